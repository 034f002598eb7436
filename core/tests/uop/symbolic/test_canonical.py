"""Canonical forms, written as formulas: what goes in, what comes out."""

from __future__ import annotations

import pytest

from tg_core.dtype import dtypes
from tg_core.uop.ops import Invalid, Ops, UOp
from tg_core.uop.printer import render
from tg_core.uop.symbolic import simplify

r0, r1, r2 = UOp.range(8, 0), UOp.range(4, 1), UOp.range(32, 2)
n = UOp.variable("n", 1, 10)
v = UOp.variable("v", -3, 3)
rn = UOp.range(n, 5)

SUMS = [
    (r1 + r0, "r0 + r1"),
    (r0 - r0, "0"),
    (r0 + 3 + r1 + 4, "r0 + r1 + 7"),
    ((r0 + 1) * 3 - r0 * 2, "r0 + 3"),
    ((r0 + r1) * 4, "r0*4 + r1*4"),
    (r0 * 2 * 3, "r0*6"),
    (r0 * n * 2 + n * r0, "n*r0*3"),
    ((n + 1) * (n - 1), "n*n + -1"),
    (r0 * 0 + 3, "3"),
]
RECOMBINATION = [
    (r2 // 4 * 4 + r2 % 4, "r2"),
    (r2 // 4 * 12 + r2 % 4 * 3, "r2*3"),
    (r2 // 8 * 2 + r2 // 4 % 2, "r2//4"),
    (r2 % 4 + r2 // 4 % 2 * 4, "r2%8"),
    (r2 - r2 // 4 * 4, "r2%4"),
    ((r2 + 1) // 4 * 4 + (r2 + 1) % 4, "r2 + 1"),
]
DIVISION = [
    ((r0 * 4 + r1) // 4, "r0"),
    ((r0 * 4 + r1) % 4, "r1"),
    ((r0 * 4 + r1) // 8, "r0//2"),
    ((r0 * 4 + r1) % 8, "r0%2*4 + r1"),
    ((r0 * 32 + r2) // 4 % 8, "r2//4"),
    (r2 // 2 // 4, "r2//8"),
    ((r2 // 2 + 3) // 4, "(r2 + 6)//8"),
    ((r0 * 6 + 4) // 4, "(r0*3)//2 + 1"),
    ((r0 * 6) % 4, "r0%2*2"),
    (r2 % 16 % 4, "r2%4"),
    ((r2 % 16 + r0) % 4, "(r0 + r2)%4"),
    (v // -2, "(v*-1)//2"),
    ((v - 8) // 16, "-1"),
    ((r0 * n + rn) // n, "r0"),
    ((r0 * n + rn) % n, "r5"),
    (n // n, "1"),
]
COMPARISON = [
    (r0 < 8, "True"),
    (r0 < 0, "False"),
    (r0 * 4 + r1 < 16, "r0 < 4"),
    (r0 // 2 < 3, "r0 < 6"),
    (r0 + 3 < 5, "r0 < 2"),
    (r0 * -1 < -2, "2 < r0"),
    (r0 >= 4, "3 < r0"),
    (r0 + r1 < r0 + 2, "r1 < 2"),
    (r0 + 2 < r1 + 1, "r0 < r1 + -1"),
    (rn < n, "True"),
    ((r0 * 2).ne(3), "True"),
    ((r0 * 2).eq(4), "r0 == 2"),
    ((r0 < 3).logical_not().logical_not(), "r0 < 3"),
    (r0.eq(3).logical_not(), "r0 != 3"),
]
LOGIC = [
    ((r0 < 4) & (r0 < 3), "r0 < 3"),
    ((r0 < 4) | (r0 < 6), "r0 < 6"),
    ((r0 < 2) & (UOp.const(3) < r0), "False"),
    ((r0 < 5) | (UOp.const(3) < r0), "True"),
    ((r1 < 2) & (r0 < 4) & (r1 < 2), "(r0 < 4) & (r1 < 2)"),
    ((r0.eq(r1)) & (r0.eq(r1)).logical_not(), "False"),
]
CHOICE = [
    (r0.maximum(9), "9"),
    (r0.maximum(0), "r0"),
    (r0.maximum(2).maximum(5), "max(r0, 5)"),
    (UOp(Ops.WHERE, (r0 < 9, r1, r2)), "r1"),
    (UOp(Ops.WHERE, (r0 < 3, r1, r1)), "r1"),
    (UOp(Ops.WHERE, ((r0 < 3).logical_not(), r1, r2)), "where(2 < r0, r1, r2)"),
    (UOp(Ops.WHERE, (r0 < 3, UOp(Ops.WHERE, (r1 < 2, r2, r0)), r0)),
     "where((r0 < 3) & (r1 < 2), r2, r0)"),
    (UOp(Ops.WHERE, (r0 < 3, UOp.const(4), UOp.const(6))) + 1, "where(r0 < 3, 5, 7)"),
]  # fmt: skip
MASKED = [
    (UOp(Ops.WHERE, (r0 < 3, r1, UOp.const(Invalid))) + r2, "where(r0 < 3, r1 + r2, Invalid)"),
    (UOp(Ops.WHERE, (r0 < 3, r1, UOp.const(Invalid))) * UOp(Ops.WHERE, (r1 < 2, r0, UOp.const(Invalid))),
     "where((r0 < 3) & (r1 < 2), r0*r1, Invalid)"),
    (r0 + UOp.const(Invalid), "Invalid"),
]  # fmt: skip


CASES = [*SUMS, *RECOMBINATION, *DIVISION, *COMPARISON, *LOGIC, *CHOICE, *MASKED]


@pytest.mark.parametrize(("node", "expected"), CASES, ids=[render(case[0]) for case in CASES])
def test_canonical(node: UOp, expected: str) -> None:
    assert render(simplify(node)) == expected


def test_unsigned_sums_subtract() -> None:
    """A negative coefficient of an unsigned value is a subtraction, so that bounds stay useful."""
    x = UOp.variable("x", 5, 9, dtypes.uint32)
    y = UOp.variable("y", 0, 3, dtypes.uint32)
    assert render(simplify(y * 2 - y * 3 + x)) == "x - y"
    assert simplify(x - UOp.const(1, dtypes.uint32)).bounds == (4, 8)


def test_concrete_division_is_left_alone_where_it_may_wrap() -> None:
    x = UOp.param(0, dtypes.int32, (4,)).index(UOp.const(0)).load()
    node = (x * 4 + UOp.const(1, dtypes.int32)) // UOp.const(4, dtypes.int32)
    assert simplify(node).op is Ops.FLOORDIV


def test_truncating_forms_stay_truncating() -> None:
    for node in (UOp(Ops.CDIV, (v, UOp.const(2))), UOp(Ops.CMOD, (v + r0, UOp.const(2)))):
        ops = {u.op for u in simplify(node).toposort()}
        assert not ops & {Ops.FLOORDIV, Ops.FLOORMOD}
        assert ops & {Ops.CDIV, Ops.CMOD}


def test_build_order_does_not_matter() -> None:
    terms = [r0 * 4, r1 * 3, r2, v, r0 // 3, UOp.const(7)]
    forward = terms[0]
    for term in terms[1:]:
        forward = forward + term
    backward = terms[-1]
    for term in reversed(terms[:-1]):
        backward = term + backward
    assert simplify(forward) is simplify(backward)
