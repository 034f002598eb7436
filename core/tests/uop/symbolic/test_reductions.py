"""Closed forms of kernel reductions, against the sum written out."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from uop_fuzz import evaluate

from tg_core.dtype import dtypes
from tg_core.uop.ops import AxisType, Invalid, Ops, UOp, graph_rewrite
from tg_core.uop.printer import render
from tg_core.uop.symbolic import symbolic_full

F, I = dtypes.float32, dtypes.int32
SIZE = 12
r = UOp.range(SIZE, 0, AxisType.REDUCE)
i = UOp.range(16, 1)
v = UOp.variable("v", -4, 15)
n = UOp.variable("n", 1, 9)
one = UOp.const(1, I)
zero = UOp.const(0, I)


def full(node: UOp) -> UOp:
    return graph_rewrite(node, symbolic_full, name="full")


def reduces(node: UOp) -> int:
    return sum(u.op is Ops.REDUCE for u in node.toposort())


CONDITIONS: dict[str, UOp] = {
    "r < i": r < i,
    "r <= i": r <= i,
    "i < r": i < r,
    "r + v < 7": r + v < 7,
    "3*r < i": r * 3 < i,
    "-2*r + i < 3": i - r * 2 < 3,
    "interval": (r >= i - 3) & (r < i),
    "two uppers": (r < i) & (r < v),
    "with a condition outside": (r < i) & (v < 5),
    "at a width": r.cast(I) < v.cast(I),
    "negated": (r < v).logical_not(),
    "empty": r < i - 20,
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS.keys())
@pytest.mark.parametrize("form", ["where", "cast", "where with a value", "else not zero"])
def test_counting(condition: UOp, form: str) -> None:
    make: dict[str, Callable[[UOp], UOp]] = {
        "where": lambda c: UOp(Ops.WHERE, (c, one, zero)),
        "cast": lambda c: UOp(Ops.CAST, (c,), I),
        "where with a value": lambda c: UOp(Ops.WHERE, (c, (v * 2).cast(I), zero)),
        "else not zero": lambda c: UOp(Ops.WHERE, (c, UOp.const(5, I), UOp.const(2, I))),
    }
    term = make[form](condition)
    closed = full(term.reduce(Ops.ADD, r))
    assert reduces(closed) == 0, render(closed)
    assert closed.dtype is I
    for at_i, at_v in itertools.product(range(0, 16, 3), range(-4, 16, 3)):
        values = {i: at_i, v: at_v}
        expected = sum(evaluate(term, {**values, r: k}) or 0 for k in range(SIZE))
        assert evaluate(closed, values) == expected, f"{render(closed)} at {values}"


def test_arange_becomes_index_arithmetic() -> None:
    """The sum of a lower triangle is the row number."""
    column = UOp.range(16, 7, AxisType.REDUCE)
    triangle = UOp(Ops.WHERE, (column <= i, one, zero))
    assert render(full(triangle.reduce(Ops.ADD, column))) == "int32(r1 + 1)"


def test_independent_value_is_multiplied() -> None:
    load = UOp.param(0, F, (16,)).index(i).load()
    assert render(full(load.reduce(Ops.ADD, r))) == "load(p0[r1])*12.0"
    assert full(load.reduce(Ops.MAX, r)) is load
    assert render(full((v * 3).reduce(Ops.ADD, r))) == "v*36"
    assert full(load.reduce(Ops.MUL, r)).op is Ops.REDUCE


def test_variable_sizes() -> None:
    over = UOp.range(n, 3, AxisType.REDUCE)
    assert render(full(v.reduce(Ops.ADD, over))) == "n*v"
    closed = full(UOp(Ops.WHERE, (over < i, UOp.const(1), UOp.const(0))).reduce(Ops.ADD, over))
    for at_n, at_i in itertools.product(range(1, 10), range(16)):
        assert evaluate(closed, {n: at_n, i: at_i}) == min(at_n, at_i)


def test_a_float_sum_that_may_be_empty_stays() -> None:
    """Nothing times infinity is no sum of nothing."""
    maybe = UOp.range(UOp.variable("m", 0, 4), 3, AxisType.REDUCE)
    load = UOp.param(0, F, (16,)).index(i).load()
    assert reduces(full(load.reduce(Ops.ADD, maybe))) == 1
    assert reduces(full(load.reduce(Ops.MAX, maybe))) == 1


def test_float_count_is_masked_where_it_is_zero() -> None:
    load = UOp.param(0, F, (16,)).index(i).load()
    closed = full(UOp(Ops.WHERE, (r < v, load, UOp.const(0.0, F))).reduce(Ops.ADD, r))
    assert reduces(closed) == 0
    assert closed.op is Ops.WHERE


def test_other_loops_stay() -> None:
    other = UOp.range(5, 4, AxisType.REDUCE)
    load = UOp.param(0, F, (16,)).index(other).load()
    closed = full(load.reduce(Ops.ADD, r, other))
    assert render(closed) == "reduce(load(p0[r4])*12.0, r4)"


table = UOp.param(0, F, (SIZE,))
wanted = UOp.param(1, I, (16,)).index(i).load()


def gather(condition: UOp, value: UOp | None = None) -> UOp:
    value = table.index(r).load() if value is None else value
    return UOp(Ops.WHERE, (condition, value, UOp.const(0.0, F))).reduce(Ops.ADD, r)


def loads_of(node: UOp, storage: UOp) -> list[UOp]:
    return [
        u.src[0].src[1] for u in node.toposort() if u.op is Ops.LOAD and u.src[0].src[0] is storage
    ]


@pytest.mark.parametrize(
    "condition",
    [r.cast(I).eq(wanted), r.cast(I).ne(wanted).logical_not(), wanted.eq(r.cast(I))],
    ids=["equal", "not unequal", "swapped"],
)
def test_masked_gather_becomes_a_load(condition: UOp) -> None:
    closed = full(gather(condition))
    assert reduces(closed) == 0
    (position,) = loads_of(closed, table)
    assert position.op is Ops.WHERE, "nothing is read where the index is out of range"
    assert position.src[2].arg is Invalid
    index = position.src[1]
    assert render(index) == "weakint(load(p1[r1]))"
    for at in (-5, -1, 0, 3, 11, 12, 100):
        reads = evaluate(position.src[0], {wanted: at})
        assert reads == (0 <= at < SIZE)


def test_gather_by_arithmetic_needs_no_mask() -> None:
    closed = full(gather((r + 3).eq(UOp.range(4, 9) + 5)))
    assert render(closed) == "load(p0[r9 + 2])"


def test_gather_with_a_choice_reversed() -> None:
    node = UOp(Ops.WHERE, (r.ne(v), UOp.const(0.0, F), table.index(r).load())).reduce(Ops.ADD, r)
    assert reduces(full(node)) == 0


def test_gather_of_a_product_with_a_float_mask_stays() -> None:
    """NaN times zero is no zero, so a mask by multiplication selects nothing."""
    node = (r.eq(v).cast(F) * table.index(r).load()).reduce(Ops.ADD, r)
    assert reduces(full(node)) == 1


@pytest.mark.parametrize("factor", [2, 3, -2])
def test_gather_at_a_stride(factor: int) -> None:
    """Every second row of a gradient: the row exists where the factor divides."""
    node = gather((r * factor + 1).eq(i))
    closed = full(node)
    assert reduces(closed) == 0
    (position,) = loads_of(closed, table)
    for at in range(16):
        solutions = [k for k in range(SIZE) if k * factor + 1 == at]
        chosen = evaluate(closed.src[0], {i: at})
        assert chosen == bool(solutions), at
        if solutions:
            assert evaluate(position, {i: at}) == solutions[0]


def test_conditions_that_load_are_masked_too() -> None:
    flags = UOp.param(5, dtypes.bool, (SIZE,))
    closed = full(gather(r.eq(v) & flags.index(r).load()))
    assert reduces(closed) == 0
    (position,) = loads_of(closed, flags)
    assert position.op is Ops.WHERE
    assert position.src[2].arg is Invalid
