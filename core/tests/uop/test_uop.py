"""Identity, interning, constants, keys and copies of nodes."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import weakref

import pytest

from tg_core.dtype import Invalid, dtypes
from tg_core.uop import uop as uop_module
from tg_core.uop.ops import AxisType, CallInfo, KernelInfo, Ops, UOp, Variable

DEPTH = 100_000
DISTINCT = [True, False, 1, 0, -1, 1.0, 0.0, -0.0, math.nan, math.inf, -math.inf, 2**70, Invalid]


def deep(depth: int = DEPTH) -> UOp:
    """Return a chain over a variable that no rule shortens."""
    node = Variable("deep", 0, 9).cast(dtypes.int32)
    one = UOp.const(1, dtypes.int32)
    for _ in range(depth):
        node = UOp(Ops.ADD, (node, one))
    return node


def test_constants_differ_by_type_and_bits() -> None:
    nodes = [UOp.const(value) for value in DISTINCT]
    assert len(set(nodes)) == len(DISTINCT)
    assert len({node.key for node in nodes}) == len(DISTINCT)
    for value, node in zip(DISTINCT, nodes, strict=True):
        assert UOp.const(value) is node, value
        assert type(node.arg) is type(value)


def test_every_nan_is_the_same_node() -> None:
    other = float("nan") * -1.0
    assert UOp.const(other) is UOp.const(math.nan)
    assert UOp.const(other, dtypes.float16) is UOp.const(math.nan, dtypes.float16)


def test_values_inside_tuples_and_tags_differ_too() -> None:
    for values in ([(1, 2), (1.0, 2), (True, 2), (1, (2,))], [(0.0,), (-0.0,), (0,), (False,)]):
        assert len({UOp(Ops.INS, (), value) for value in values}) == len(values)
        assert len({UOp(Ops.NOOP, (), None, value) for value in values}) == len(values)
    assert len({UOp(Ops.NOOP, (), None, tag) for tag in (1, True, 1.0, "1", None)}) == 5


def test_equal_nodes_are_one_object() -> None:
    a, b = Variable("a", 0, 3), Variable("b", 0, 3)
    assert a + b is a + b
    assert a + b is not b + a
    assert (a + b).replace(tag="x") is not a + b
    assert (a + b).replace(tag="x").replace(tag=None) is a + b
    assert (a + b).replace(op=Ops.MUL) is a * b
    assert UOp.range(4, 0) is not UOp.range(4, 1)
    assert UOp.range(4, 0) is not UOp.range(4, 0, AxisType.REDUCE)


def test_fresh_storage_is_never_shared() -> None:
    a, b = (UOp.buffer(4, dtypes.int32, "NULL") for _ in range(2))
    assert a is not b
    assert a.arg.slot > b.arg.slot
    assert UOp.buffer(4, dtypes.int32, "NULL", slot=7) is UOp.buffer(
        4, dtypes.int32, "NULL", slot=7
    )


def test_nodes_die_with_their_last_user() -> None:
    gc.collect()
    gc.disable()
    try:
        before = len(uop_module._interned)
        node = Variable("short_lived", 0, 5)
        expression = (node + 77_001) * 77_003
        assert (expression.shape, expression.dtype, expression.vmax) == (
            (),
            dtypes.weakint,
            77_006 * 77_003,
        )
        expression.key
        alive = weakref.ref(expression)
        assert len(uop_module._interned) - before >= 3
        del expression, node
        assert alive() is None
        assert len(uop_module._interned) == before
    finally:
        gc.enable()


def test_a_failed_node_leaves_nothing_behind() -> None:
    def refuse(node: UOp) -> None:
        raise ValueError("no")

    uop_module.creation_check.append(refuse)
    try:
        with pytest.raises(ValueError, match="no"):
            UOp(Ops.NOOP, (), None, "refused")
    finally:
        uop_module.creation_check.remove(refuse)
    assert not any(key[3] == "refused" for key in list(uop_module._interned))
    assert UOp(Ops.NOOP, (), None, "refused").tag == "refused"


def test_threads_get_the_same_nodes() -> None:
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    found: list[list[UOp]] = [[] for _ in range(4)]
    start = threading.Barrier(4)

    def build(mine: list[UOp]) -> None:
        start.wait()
        for number in range(2000):
            mine.append(UOp.const(880_000 + number) + number % 3)

    threads = [threading.Thread(target=build, args=(mine,)) for mine in found]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    for nodes in zip(*found, strict=True):
        assert len(set(nodes)) == 1, nodes[0].arg


def test_a_node_can_be_made_while_its_like_is_dying() -> None:
    made: list[UOp] = []
    node = UOp(Ops.NOOP, (), None, "phoenix")

    def again(_: object) -> None:
        made.append(UOp(Ops.NOOP, (), None, "phoenix"))

    watch = weakref.ref(node, again)
    del node
    assert watch() is None
    assert made == [UOp(Ops.NOOP, (), None, "phoenix")]


def test_copies_are_the_node_itself() -> None:
    node = (Variable("a", 0, 3) + 1) * -0.0
    assert copy.copy(node) is copy.deepcopy(node) is node
    assert pickle.loads(pickle.dumps(node)) is node
    assert pickle.loads(pickle.dumps([node, node.src[0]])) == [node, node.src[0]]


KEYS = """
from tg_core.dtype import Invalid, dtypes
from tg_core.uop.ops import *
a = Variable("a", 0, 9)
r = UOp.range(a, 3, AxisType.REDUCE)
p = UOp.param(0, dtypes.bfloat16, (16,), "CPU")
value = p.index((r < 3).where(r * 2, UOp.const(Invalid))).load().cast(dtypes.float32).reduce(Ops.ADD, r)
kernel = UOp.sink(p.index(a).store(value.cast(dtypes.bfloat16)), arg=KernelInfo("k"))
for node in (*kernel.toposort(), UOp.call(kernel, p), UOp.const(-0.0), UOp.const(float("nan")), UOp(Ops.BINARY, (), b"\\x00")):
    print(node.key.hex())
"""


def test_keys_are_the_same_in_every_process() -> None:
    outputs = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", KEYS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    lines = outputs.pop().split()
    assert len(set(lines)) == len(lines) > 20


def test_keys_tell_structure_apart() -> None:
    a, b = Variable("a", 0, 9), Variable("b", 0, 9)
    nodes = [a + b, b + a, a * b, (a + b) + b, a + (b + b), a, b, Variable("a", 0, 8), (a + b).replace(tag="t"),
             UOp.call(UOp.sink(), a), UOp.call(UOp.sink(), a, info=CallInfo("f")), UOp.sink(arg=KernelInfo())]  # fmt: skip
    assert len({node.key for node in nodes}) == len(nodes)


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [(300, dtypes.uint8, 44), (-1, dtypes.uint32, 2**32 - 1), (1.5, dtypes.int32, 1), (0.1, dtypes.float16, 0.0999755859375),
     (2, dtypes.float32, 2.0), (7, dtypes.bool, True), (True, dtypes.int8, 1), (1e10, dtypes.uint8, int(1e10) % 256)],
)  # fmt: skip
def test_constants_have_the_value_their_width_stores(
    value: object, dtype: object, want: object
) -> None:
    node = UOp.const(value, dtype)  # type: ignore[arg-type]
    assert node.const_value == want
    assert type(node.const_value) is type(want)
    assert node.dtype is dtype


def test_constants_under_several_casts() -> None:
    node = UOp.const(300.7, dtypes.float32).cast(dtypes.uint8).cast(dtypes.float64)
    assert node.const_value == 44.0
    assert UOp.const(Invalid).const_value is Invalid
    assert Variable("a", 0, 3).cast(dtypes.float32).const_value is None
    chain = UOp.const(1.0)
    for i in range(DEPTH):
        chain = UOp(Ops.CAST, (chain,), dtypes.float64 if i % 2 else dtypes.float32)
    assert chain.const_value == 1.0


def test_binding() -> None:
    n = Variable("n", 1, 5)
    assert n.bind(5).unbind() == (n, 5)
    assert n.bind(2).shape == ()
    for bad in (0, 6):
        with pytest.raises(ValueError, match=rf"n must lie in \[1, 5\], found {bad}"):
            n.bind(bad)
    with pytest.raises(ValueError, match="expected an integer variable, found CONST"):
        UOp.const(1).bind(1)
    with pytest.raises(ValueError, match="expected a bound variable"):
        n.unbind()
    with pytest.raises(ValueError, match="low 3 is above high 2"):
        Variable("n", 3, 2)


def test_small_constructors() -> None:
    effect = UOp(Ops.NOOP)
    loop = UOp.range(4, 0)
    assert effect.end() is effect.after() is effect
    assert UOp.group(effect) is effect
    assert effect.end(loop).src == (effect, loop)
    assert UOp.const(3).reduce(Ops.ADD) is UOp.const(3)
    index = UOp.param(0, dtypes.float32, (8,)).index(loop)
    assert index.load(gate=loop < 2).src[1].const_value == 0.0
    assert UOp.param(0, dtypes.float32, (8,)).index(loop, 4).shape == (4,)
    assert index.store(index.load()).dtype is dtypes.void


def test_deep_graphs_are_freed() -> None:
    node = deep()
    gone = weakref.ref(node)
    del node
    assert gone() is None
