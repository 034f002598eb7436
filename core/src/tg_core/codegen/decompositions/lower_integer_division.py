"""FLOORDIV and FLOORMOD from the truncating forms, and both from shifts where the divisor is a
power of two.

Rules are shape agnostic: they also apply to lanes. None of them traps: division by zero is left to
CDIV and CMOD, whose renderers guard the divisor (the quotient and the remainder are 0 there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen.decompositions import divide_by_multiplication
from tg_core.dtype import InvalidType, dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.renderer import Renderer

_INTEGERS: Final[tuple[DType, ...]] = (dtypes.weakint, *dtypes.ints)


def _constant(node: UOp) -> int | None:
    value = node.const_value
    return None if value is None or isinstance(value, InvalidType) else int(value)


def _log2(node: UOp) -> int | None:
    """Return the exponent of a positive constant power of two."""
    value = _constant(node)
    return (
        value.bit_length() - 1
        if value is not None and value > 0 and not value & (value - 1)
        else None
    )


def _like(value: int, node: UOp) -> UOp:
    return UOp.const(value, node.dtype)


def shift_for_floordiv(x: UOp, divisor: UOp) -> UOp | None:
    """FLOORDIV(x, 2^k) -> x >> k. An arithmetic shift rounds down, for negative x too; unsigned
    shifts are division.
    """
    amount = _log2(divisor)
    if amount is None:
        return None
    return x if amount == 0 else UOp(Ops.SHR, (x, _like(amount, x)))


def mask_for_floormod(x: UOp, divisor: UOp) -> UOp | None:
    """FLOORMOD(x, 2^k) -> x & (2^k - 1). Two's complement: the low bits are the remainder of
    rounding down.
    """
    amount = _log2(divisor)
    return None if amount is None else UOp(Ops.AND, (x, _like((1 << amount) - 1, x)))


def shift_for_cdiv(x: UOp, divisor: UOp) -> UOp | None:
    """CDIV(x, 2^k) -> x >> k when x >= 0. Truncation and rounding down agree there."""
    return shift_for_floordiv(x, divisor) if x.vmin >= 0 else None


def mask_for_cmod(x: UOp, divisor: UOp) -> UOp | None:
    """CMOD(x, 2^k) -> x & (2^k - 1) when x >= 0. Truncation and rounding down agree there."""
    return mask_for_floormod(x, divisor) if x.vmin >= 0 else None


def _signs_agree(x: UOp, divisor: UOp) -> bool:
    return bool((x.vmin >= 0 and divisor.vmin >= 0) or (x.vmax <= 0 and divisor.vmax < 0))


def truncate_floordiv(x: UOp, divisor: UOp) -> UOp:
    """FLOORDIV(x, y) -> CDIV(x, y), minus 1 where the remainder is not 0 and the signs differ.

    Where the signs are known to agree the quotient is not negative and truncation rounds down
    already.
    """
    quotient = UOp(Ops.CDIV, (x, divisor))
    if _signs_agree(x, divisor):
        return quotient
    adjusted = UOp(Ops.SUB, (quotient, _like(1, x)))
    return UOp(Ops.WHERE, (_rounds_up(x, divisor), adjusted, quotient))


def truncate_floormod(x: UOp, divisor: UOp) -> UOp:
    """FLOORMOD(x, y) -> CMOD(x, y), plus y where the remainder is not 0 and the signs of it and y
    differ.
    """
    remainder = UOp(Ops.CMOD, (x, divisor))
    if _signs_agree(x, divisor):
        return remainder
    return UOp(Ops.WHERE, (_rounds_up(x, divisor), UOp(Ops.ADD, (remainder, divisor)), remainder))


def _rounds_up(x: UOp, divisor: UOp) -> UOp:
    """Return where truncation rounds up: a remainder that is not 0 and whose sign is not the
    divisor's.
    """
    remainder, zero = UOp(Ops.CMOD, (x, divisor)), _like(0, x)
    inexact = UOp(Ops.CMPNE, (remainder, zero))
    if divisor.vmin > 0:
        return UOp(Ops.CMPLT, (remainder, zero))
    differ = UOp(Ops.CMPNE, (UOp(Ops.CMPLT, (remainder, zero)), UOp(Ops.CMPLT, (divisor, zero))))
    return UOp(Ops.AND, (inexact, differ))


def _operands(op: Ops) -> UPat:
    return UPat(op, (UPat.var("x"), UPat.var("divisor")), dtype=_INTEGERS)


_shifts = PatternMatcher(
    [
        (_operands(Ops.FLOORDIV), shift_for_floordiv),
        (_operands(Ops.FLOORMOD), mask_for_floormod),
        (_operands(Ops.CDIV), shift_for_cdiv),
        (_operands(Ops.CMOD), mask_for_cmod),
    ]
)
_floordiv = PatternMatcher([(_operands(Ops.FLOORDIV), truncate_floordiv)])
_floormod = PatternMatcher([(_operands(Ops.FLOORMOD), truncate_floormod)])


def division_rules(renderer: Renderer) -> PatternMatcher:
    """Return the rules for a target: shifts always, products where it cannot divide, and the floor
    forms where it lacks them.
    """
    rules = _shifts
    if Ops.CDIV not in renderer.native_ops:
        rules = rules + divide_by_multiplication.rules
    if Ops.FLOORDIV not in renderer.native_ops:
        rules = rules + _floordiv
    if Ops.FLOORMOD not in renderer.native_ops:
        rules = rules + _floormod
    return rules
