from __future__ import annotations

import random

import pytest
from uop_fuzz import Generator

import tg_core.uop.ops as ops
from tg_core.dtype import dtypes
from tg_core.uop.ops import AxisType, Invalid, KernelInfo, Ops, ProgramInfo, UOp
from tg_core.uop.printer import render

NAMES = dict(vars(ops))
r0, r1 = UOp.range(8, 0), UOp.range(4, 1, AxisType.REDUCE)
n = UOp.variable("n", 1, 10)
storage = UOp.param(0, dtypes.float32, (100,), "CPU")

NODES = [
    UOp.const(3),
    UOp.const(True),
    UOp.const(Invalid),
    UOp.const(-0.0),
    UOp.const(float("nan")),
    UOp.const(float("-inf"), dtypes.bfloat16),
    UOp.const(300, dtypes.int8),
    UOp.const(1, dtypes.float32),
    UOp.range(4, (1, 2), AxisType.UPCAST),
    UOp.special(16, "gidx0"),
    n.bind(4),
    storage.index(r0 * 4 + r1).load(),
    storage.index(r0, 4).store(UOp.const(0.0), r0 < 3),
    UOp.param(0, dtypes.int8, (4, 3)).shrink(((0, n - 1), (0, 3))),
    UOp(Ops.REDUCE_AXIS, (UOp.param(0, dtypes.int8, (4, 3)),), (Ops.ADD, (0,))),
    UOp.sink(storage.index(r0).store(UOp.const(0.0)).end(r0), arg=KernelInfo("k")),
    UOp(Ops.PROGRAM, (), ProgramInfo("k", (n, 1, 1), variables=(n,))),
    UOp(Ops.SOURCE, (), 'void f() { return; } // \\ "quotes"\n'),
    UOp(Ops.BINARY, (), b"\x00\xff"),
    UOp(Ops.NOOP, (), None, ("tag", 3)),
    storage.cast(dtypes.int32).bitcast(dtypes.uint32),
]


@pytest.mark.parametrize("node", NODES, ids=range(len(NODES)))
def test_source_evaluates_to_the_same_node(node: UOp) -> None:
    assert eval(repr(node), NAMES) is node


def test_random_graphs_evaluate_back() -> None:
    for seed in range(100):
        node = Generator(random.Random(seed), random.Random(seed).choice(dtypes.ints)).integer(5)
        assert eval(repr(node), NAMES) is node


def test_shared_and_deep_graphs() -> None:
    shared = r0
    for _ in range(40):
        shared = shared + shared
    text = repr(shared)
    assert len(text) < 10_000, "a shared node is written once"
    assert eval(text, NAMES) is shared
    deep = r0
    for _ in range(5_000):
        deep = deep * 3 + r1
    assert eval(repr(deep), NAMES) is deep


FORMULAS = [
    ((r0 * 4 + r1) // 8, "(r0*4 + r1)//8"),
    (r0 - (r1 - 3), "r0 - (r1 - 3)"),
    ((r0 + r1) * 3, "(r0 + r1)*3"),
    ((r0 * 3) // 2, "(r0*3)//2"),
    ((r0 < 3) & (r1 < 2).logical_not(), "(r0 < 3) & !(r1 < 2)"),
    (r0 + -1, "r0 + -1"),
    (n * r0, "n*r0"),
    (UOp(Ops.CDIV, (r0, UOp.const(3))), "cdiv(r0, 3)"),
    (UOp(Ops.WHERE, (r0 < 3, r0, UOp.const(Invalid))), "where(r0 < 3, r0, Invalid)"),
    (storage.index(r0 * 2).load(), "load(p0[r0*2])"),
    (r0.cast(dtypes.int32) + UOp.const(2, dtypes.int32), "int32(r0) + 2"),
]


@pytest.mark.parametrize(("node", "formula"), FORMULAS, ids=[f for _, f in FORMULAS])
def test_formula(node: UOp, formula: str) -> None:
    assert render(node) == formula


def test_long_shared_parts_are_named() -> None:
    part = r0
    for _ in range(30):
        part = (part + r1) * (part % 7)
    text = render(part)
    assert "where t0 = " in text
    assert len(text) < 20_000
