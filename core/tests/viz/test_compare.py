from __future__ import annotations

import sys

from tg_core.uop.ops import UOp
from tg_core.viz.compare import compare_graphs, compare_lines

r0, r1, r2 = UOp.range(8, 0), UOp.range(4, 1), UOp.range(4, 2)


def test_a_replaced_source_rebuilds_its_readers() -> None:
    before = ((r0 + r1) * 3) // 5
    after = ((r0 + r2) * 3) // 5
    change = compare_graphs(before, after)
    assert change.new == [r2]
    assert change.rebuilt == [r0 + r2, (r0 + r2) * 3, after]
    assert change.gone == [r1]
    assert change.became[after] is before


def test_another_operation_in_the_same_place_is_new() -> None:
    change = compare_graphs((r0 + r1) * 3, (r0 * r1) * 3)
    assert change.new == [r0 * r1]
    assert change.rebuilt == [(r0 * r1) * 3]
    assert change.gone == [r0 + r1]


def test_a_node_that_falls_out_leaves_its_reader_rebuilt() -> None:
    before, after = (r0 + 0) // 5, r0 // 5
    change = compare_graphs(before, after)
    assert change.new == []
    assert change.rebuilt == [after]
    assert r0 + 0 in change.gone


def test_equal_graphs_have_no_change() -> None:
    change = compare_graphs(r0 + r1, r0 + r1)
    assert (change.new, change.rebuilt, change.gone, change.became) == ([], [], [], {})


def test_deep_graphs_are_compared() -> None:
    before, after = r0, r1
    for _ in range(2 * sys.getrecursionlimit()):
        before, after = before // 3, after // 3
    assert len(compare_graphs(before, after).rebuilt) == 2 * sys.getrecursionlimit()


def test_lines_are_aligned() -> None:
    rows = compare_lines(["a", "b", "c"], ["a", "x", "c", "d"])
    assert rows == [(" ", "a"), ("-", "b"), ("+", "x"), (" ", "c"), ("+", "d")]


def test_long_texts_keep_every_line() -> None:
    before = [f"line {i}" for i in range(5000)]
    after = [*before[:-1], "last"]
    rows = compare_lines(before, after)
    assert [line for mark, line in rows if mark != "-"] == after
    assert [line for mark, line in rows if mark == "-"] == ["line 4999"]
    assert [line for mark, line in rows if mark == "+"] == ["last"]
