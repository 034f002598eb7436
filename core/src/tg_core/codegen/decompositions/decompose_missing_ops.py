"""Simple ops that a target may lack, from others. Shape agnostic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen.decompositions.decompose_float_division import float_division_rules
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.renderer import Renderer


def maximum_by_comparison(a: UOp, b: UOp) -> UOp:
    """MAX(a, b) -> WHERE(a < b, b, a), for floats with NaN of either side passed on."""
    chosen = UOp(Ops.WHERE, (UOp(Ops.CMPLT, (a, b)), b, a))
    if not dtypes.is_float(a.dtype):
        return chosen
    # a NaN in `a` makes the comparison false and is chosen; one in `b` has to be looked for
    return UOp(Ops.WHERE, (UOp(Ops.CMPNE, (b, b)), b, chosen))


def multiply_then_add(a: UOp, b: UOp, c: UOp) -> UOp:
    """MULACC(a, b, c) -> a * b + c. Rounds twice: only for targets that cannot do better."""
    return UOp(Ops.ADD, (UOp(Ops.MUL, (a, b)), c))


def invert_by_division(x: UOp) -> UOp:
    """RECIPROCAL(x) -> 1 / x. The definition."""
    return UOp(Ops.FDIV, (UOp.const(1.0, x.dtype), x))


def divide_by_reciprocal(a: UOp, b: UOp) -> UOp:
    """FDIV(a, b) -> a * RECIPROCAL(b). Rounds twice: only for targets without division."""
    return UOp(Ops.MUL, (a, UOp(Ops.RECIPROCAL, (b,))))


def subtract_by_negation(a: UOp, b: UOp) -> UOp:
    """SUB(a, b) -> a + b * -1. Exact: negation is, and wraps in integers."""
    return UOp(Ops.ADD, (a, UOp(Ops.MUL, (b, UOp.const(-1, b.dtype)))))


def equal_by_difference(a: UOp, b: UOp) -> UOp:
    """CMPEQ(a, b) -> CMPNE(CMPNE(a, b), True). NaN differs from all, so it equals none."""
    return UOp(Ops.CMPNE, (UOp(Ops.CMPNE, (a, b)), UOp.const(True)))


def truncate_by_cast(x: UOp) -> UOp:
    """TRUNC(x) -> float(int(x)) below 2^(mantissa bits), where x is not whole already. Keeps NaN,
    infinities and -0.0.
    """
    wide = x.dtype is dtypes.float64
    integer = dtypes.int64 if wide else dtypes.int32
    limit = UOp.const(2.0**52 if wide else 2.0**23, x.dtype)
    zero = UOp.const(0.0, x.dtype)
    inside = UOp(
        Ops.AND, (UOp(Ops.CMPLT, (x, limit)), UOp(Ops.CMPLT, (UOp(Ops.SUB, (zero, limit)), x)))
    )
    whole = UOp(Ops.CAST, (UOp(Ops.CAST, (UOp(Ops.WHERE, (inside, x, zero)),), integer),), x.dtype)
    moves = UOp(Ops.AND, (inside, UOp(Ops.CMPNE, (whole, x))))
    return UOp(Ops.WHERE, (moves, whole, x))


_A, _B, _C, _X = UPat.var("a"), UPat.var("b"), UPat.var("c"), UPat.var("x")

_RULES: Final[dict[Ops, tuple[UPat, Callable[..., UOp | None]]]] = {
    Ops.MAX: (UPat(Ops.MAX, (_A, _B)), maximum_by_comparison),
    Ops.MULACC: (UPat(Ops.MULACC, (_A, _B, _C)), multiply_then_add),
    Ops.RECIPROCAL: (UPat(Ops.RECIPROCAL, (_X,)), invert_by_division),
    Ops.FDIV: (UPat(Ops.FDIV, (_A, _B)), divide_by_reciprocal),
    Ops.SUB: (UPat(Ops.SUB, (_A, _B)), subtract_by_negation),
    Ops.CMPEQ: (UPat(Ops.CMPEQ, (_A, _B)), equal_by_difference),
    Ops.TRUNC: (UPat(Ops.TRUNC, (_X,)), truncate_by_cast),
}


def missing_op_rules(renderer: Renderer) -> PatternMatcher:
    """Return the rules for the ops a target lacks. Whole quotients of floats and their
    remainders are never native.
    """
    divisions = float_division_rules(Ops.MULACC in renderer.native_ops)
    return (
        PatternMatcher([rule for op, rule in _RULES.items() if op not in renderer.native_ops])
        + divisions
    )
