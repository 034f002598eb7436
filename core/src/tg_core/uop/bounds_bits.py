"""Interval rules of shifts and bitwise operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.uop.bounds_common import UNKNOWN_BOOL, Bounds, dtype_bounds, fit

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp


def _shift_amount_known(u: UOp) -> bool:
    """Whether the shift amount is in the defined range of the dtype for every value."""
    amount = u.src[1]
    bits = 128 if u.dtype is dtypes.weakint else u.dtype.bits
    return amount.vmin >= 0 and amount.vmax < bits


def shift_left_bounds(u: UOp) -> Bounds:
    """Bound a << b."""
    if not _shift_amount_known(u):
        return dtype_bounds(u.dtype)
    a, b = u.src
    corners = [int(x) << int(s) for x in (a.vmin, a.vmax) for s in (b.vmin, b.vmax)]
    return fit(min(corners), max(corners), u.dtype)


def shift_right_bounds(u: UOp) -> Bounds:
    """Bound a >> b, arithmetic for signed dtypes."""
    if not _shift_amount_known(u):
        return dtype_bounds(u.dtype)
    a, b = u.src
    corners = [int(x) >> int(s) for x in (a.vmin, a.vmax) for s in (b.vmin, b.vmax)]
    return min(corners), max(corners)


def _magnitude_bits(a: UOp, b: UOp) -> int:
    """Smallest k so that both operands lie in [-2^k, 2^k - 1]."""
    ends = (int(a.vmin), int(a.vmax), int(b.vmin), int(b.vmax))
    return max((end if end >= 0 else ~end).bit_length() for end in ends)


def and_bounds(u: UOp) -> Bounds:
    """Bound a & b."""
    a, b = u.src
    if u.dtype is dtypes.bool:
        return bool(a.vmin and b.vmin), bool(a.vmax and b.vmax)
    if a.vmin >= 0 and b.vmin >= 0:
        return 0, min(a.vmax, b.vmax)
    if a.vmin >= 0:
        return 0, a.vmax
    if b.vmin >= 0:
        return 0, b.vmax
    high = min(a.vmax, b.vmax) if a.vmax < 0 and b.vmax < 0 else max(a.vmax, b.vmax)
    return fit(-(1 << _magnitude_bits(a, b)), high, u.dtype)


def or_bounds(u: UOp) -> Bounds:
    """Bound a | b."""
    a, b = u.src
    if u.dtype is dtypes.bool:
        return bool(a.vmin or b.vmin), bool(a.vmax or b.vmax)
    bits = _magnitude_bits(a, b)
    if a.vmin >= 0 and b.vmin >= 0:
        return max(a.vmin, b.vmin), (1 << bits) - 1
    # one operand that is always negative keeps the sign bit set
    high = -1 if a.vmax < 0 or b.vmax < 0 else (1 << bits) - 1
    return fit(-(1 << bits), high, u.dtype)


def xor_bounds(u: UOp) -> Bounds:
    """Bound a ^ b."""
    a, b = u.src
    if u.dtype is dtypes.bool:
        if a.vmin == a.vmax and b.vmin == b.vmax:
            return (a.vmin != b.vmin,) * 2
        return UNKNOWN_BOOL
    if b.vmin == b.vmax == -1:
        # a weak -1 beside an unsigned operand has all bits of its width set
        ones = int(dtypes.max(u.dtype)) if dtypes.is_unsigned(u.dtype) else -1
        return ones - int(a.vmax), ones - int(a.vmin)
    bits = _magnitude_bits(a, b)
    low = 0 if a.vmin >= 0 and b.vmin >= 0 else -(1 << bits)
    return fit(low, (1 << bits) - 1, u.dtype)
