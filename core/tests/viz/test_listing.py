from __future__ import annotations

import sys

from tg_core.dtype import dtypes
from tg_core.uop.ops import AxisType, Ops, UOp
from tg_core.viz.compare import compare_graphs
from tg_core.viz.listing import Names, argument_of, brief, list_graph, type_of

r0, r1 = UOp.range(8, 0), UOp.range(4, 1, AxisType.REDUCE)
p0 = UOp.param(0, dtypes.float32, (32,), "CPU")
p1 = UOp.param(1, dtypes.float32, (8,), "CPU")


def row_sum() -> UOp:
    total = UOp(Ops.REDUCE, (p0.index(r0 * 4 + r1).load(), r1), Ops.ADD)
    return UOp.sink(p1.index(r0).store(total).end(r0))


def test_a_kernel_reads_like_a_program() -> None:
    assert list_graph(row_sum(), Names()) == [
        "p0 = param float32[32] global CPU",
        "p1 = param float32[8] global CPU",
        "r0: weakint = range(8) loop",
        "r1: weakint = range(4) reduce",
        "v0 = store(p1[r0], reduce(load(p0[r0*4 + r1]), r1, ADD))",
        "v1 = end(v0, r0)",
        "v2 = sink(v1)",
    ]


def test_a_name_stays_with_its_place() -> None:
    names = Names()
    before = row_sum()
    list_graph(before, names)
    after = before.substitute({r0 * 4 + r1: r1 * 8 + r0})
    lines = list_graph(after, names, compare_graphs(before, after).became)
    assert lines[-3:] == [
        "v0 = store(p1[r0], reduce(load(p0[r1*8 + r0]), r1, ADD))",
        "v1 = end(v0, r0)",
        "v2 = sink(v1)",
    ]


def test_a_name_stands_for_one_node_of_a_text() -> None:
    names = Names()
    square, cube = p0.index(r0).load().sqrt().sqrt().sqrt(), p0.index(r1).load().sqrt().sqrt()
    first = UOp.sink(p1.index(r0).store(square * square))
    list_graph(first, names)
    both = UOp.sink(p1.index(r0).store(square * square), p1.index(r0).store(cube * cube))
    lines = list_graph(both, names, compare_graphs(first, both).became)
    defined = [line.split(" = ")[0].split(":")[0] for line in lines]
    assert len(defined) == len(set(defined))


def test_a_linear_program_has_a_line_for_each_step_and_shows_loops() -> None:
    loop = UOp.range(8, 0)
    access = p1.index(loop)
    value = access.load()
    stored = access.store(value)
    lines = list_graph(
        UOp(Ops.LINEAR, (p1, loop, access, value, stored, stored.end(loop))), Names()
    )
    assert lines == [
        "p1 = param float32[8] global CPU",
        "r0: weakint = range(8) loop",
        "  v0: float32 = p1[r0]",
        "  v1: float32 = load(v0)",
        "  v2 = store(v0, v1)",
        "v3 = end(v2, r0)",
    ]


def test_brief_cuts_deep_and_wide_expressions() -> None:
    assert brief(r0 + 0) == "r0 + 0"
    deep = r0
    for _ in range(2 * sys.getrecursionlimit()):
        deep = deep.sqrt()
    assert brief(deep) == "sqrt(" * 9 + "..." + ")" * 9
    assert brief(r0 * 4 + r1) == "r0*4 + r1"
    wide = UOp.sink(*(p1.index(r0 + i).load() for i in range(200)))
    assert len(brief(wide)) <= 200


def test_types_and_arguments() -> None:
    assert type_of(p0) == "float32[32]"
    assert type_of(r0) == "weakint"
    assert type_of(row_sum()) == "void"
    assert argument_of(p0) == "p0 global CPU"
    assert argument_of(row_sum()) == ""
    assert argument_of(r1) == "r1 reduce"
    assert argument_of(UOp.variable("n", 1, 9)) == "n from 1 to 9"
    assert argument_of(UOp(Ops.REDUCE, (p0.index(r0).load(), r0), Ops.MAX)) == "MAX"
