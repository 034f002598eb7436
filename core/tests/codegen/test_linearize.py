"""Order, nesting and errors of `linearize`."""

from __future__ import annotations

import pytest
from codegen_kernels import GRID, kernel, load, loop, param

from tg_core.codegen.linearize import linearize
from tg_core.codegen.lower_weak_to_ints import lower_weak_to_ints
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.uop.ops import Ops, UOp


def order(sink: UOp) -> list[UOp]:
    return list(linearize(lower_weak_to_ints(sink, GRID)).src)


def positions(linear: list[UOp], op: Ops) -> list[int]:
    return [i for i, n in enumerate(linear) if n.op is op]


def test_what_does_not_change_in_a_loop_is_outside_of_it() -> None:
    i, j = loop(4, 0), loop(8, 1)
    value = load(param(1, 4), i) * load(param(2, 8), j)
    linear = order(kernel(param(0, 32).index(i * 8 + j).store(value).end(i, j)))
    outer, inner = positions(linear, Ops.RANGE)
    loads = positions(linear, Ops.LOAD)
    assert outer < loads[0] < inner < loads[1]


def test_every_source_comes_before_its_reader() -> None:
    i, j = loop(4, 0), loop(8, 1)
    value = load(param(1, 32), i * 8 + j) + 1
    linear = order(kernel(param(0, 32).index(i * 8 + j).store(value).end(i, j)))
    seen: set[UOp] = set()
    for node in linear:
        assert all(s in seen for s in node.src), node.op
        seen.add(node)
    assert not {Ops.AFTER, Ops.GROUP, Ops.SINK} & {n.op for n in linear}


def test_loops_close_one_by_one_from_the_inside() -> None:
    i, j = loop(4, 0), loop(8, 1)
    linear = order(kernel(param(0, 32).index(i * 8 + j).store(load(param(1, 8), j)).end(i, j)))
    ranges = [linear[p] for p in positions(linear, Ops.RANGE)]
    ends = [linear[p] for p in positions(linear, Ops.END)]
    assert [e.src[1] for e in ends] == ranges[::-1]
    assert ends[1].src[0] is ends[0]


def test_loads_at_different_times_are_different_nodes() -> None:
    register = UOp.register(1, dtypes.float32, 0)
    zero = UOp.const(0)
    first = register.index(zero).store(UOp.const(1.0, dtypes.float32))
    before = register.after(first).index(zero).load()
    second = register.after(first).index(zero).store(before + before)
    after = register.after(second).index(zero).load()
    out = param(0, 2)
    linear = order(kernel(out.index(zero).store(before), out.index(UOp.const(1)).store(after)))
    loads = positions(linear, Ops.LOAD)
    stores = [p for p in positions(linear, Ops.STORE) if linear[p].src[0].src[0] is register]
    assert len(loads) == 2
    assert stores[0] < loads[0] < stores[1] < loads[1]


def test_a_range_closed_twice_is_an_error() -> None:
    i = loop(4, 0)
    one = param(0, 4).index(i).store(load(param(1, 4), i)).end(i)
    two = param(2, 4).index(i).store(load(param(1, 4), i)).end(i)
    with pytest.raises(CompileError, match="closed twice"):
        order(kernel(one, two))


def test_a_range_never_closed_is_an_error() -> None:
    i = loop(4, 0)
    with pytest.raises(CompileError, match="never closed"):
        order(kernel(param(0, 4).index(i).store(load(param(1, 4), i))))


def test_a_deep_chain_is_linear_in_time() -> None:
    i = loop(4, 0)
    value = load(param(1, 4), i)
    for _ in range(30_000):
        value = UOp(Ops.ADD, (value, value))
    assert len(order(kernel(param(0, 4).index(i).store(value).end(i)))) > 30_000
