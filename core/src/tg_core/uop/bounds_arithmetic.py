"""Interval rules of integer and float arithmetic: sums, products, the two divisions and modulos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.uop.bounds_common import (
    UNKNOWN_FLOAT,
    Bounds,
    all_finite,
    dtype_bounds,
    fit,
    is_float_dtype,
    round_float,
)

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp


def add_bounds(u: UOp) -> Bounds:
    """Bound a + b."""
    a, b = u.src
    dtype = u.dtype
    if is_float_dtype(dtype):
        return (
            round_float(a.vmin + b.vmin, a.vmax + b.vmax, dtype)
            if all_finite(a, b)
            else UNKNOWN_FLOAT
        )
    return fit(a.vmin + b.vmin, a.vmax + b.vmax, dtype)


def sub_bounds(u: UOp) -> Bounds:
    """Bound a - b."""
    a, b = u.src
    dtype = u.dtype
    if is_float_dtype(dtype):
        return (
            round_float(a.vmin - b.vmax, a.vmax - b.vmin, dtype)
            if all_finite(a, b)
            else UNKNOWN_FLOAT
        )
    return fit(a.vmin - b.vmax, a.vmax - b.vmin, dtype)


def _product(a: UOp, b: UOp) -> Bounds:
    low_a, high_a, low_b, high_b = a.vmin, a.vmax, b.vmin, b.vmax
    if low_a >= 0 and low_b >= 0:
        return low_a * low_b, high_a * high_b
    corners = (low_a * low_b, low_a * high_b, high_a * low_b, high_a * high_b)
    return min(corners), max(corners)


def mul_bounds(u: UOp) -> Bounds:
    """Bound a * b, for every combination of signs."""
    a, b = u.src
    dtype = u.dtype
    if is_float_dtype(dtype):
        return round_float(*_product(a, b), dtype) if all_finite(a, b) else UNKNOWN_FLOAT
    return fit(*_product(a, b), dtype)


def mulacc_bounds(u: UOp) -> Bounds:
    """Bound a * b + c."""
    a, b, c = u.src
    # a float result is rounded once, which endpoints computed in double precision cannot reproduce
    if is_float_dtype(u.dtype):
        return UNKNOWN_FLOAT
    low, high = _product(a, b)
    return fit(low + c.vmin, high + c.vmax, u.dtype)


def truncating_div(a: int, b: int) -> int:
    """Divide integers rounding toward zero.

    Args:
        a: dividend.
        b: divisor, not zero.

    Returns:
        The quotient, as C's `/` gives it.
    """
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncating_mod(a: int, b: int) -> int:
    """Give the remainder that belongs to `truncating_div`: it has the sign of the dividend.

    Args:
        a: dividend.
        b: divisor, not zero.

    Returns:
        `a - b * truncating_div(a, b)`.
    """
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def floor_div_bounds(u: UOp) -> Bounds:
    """Bound a // b rounded down."""
    a, b = u.src
    if is_float_dtype(u.dtype):
        return UNKNOWN_FLOAT
    low_b, high_b = int(b.vmin), int(b.vmax)
    # a divisor that may be zero gives an unspecified value
    if low_b <= 0 <= high_b:
        return dtype_bounds(u.dtype)
    low_a, high_a = int(a.vmin), int(a.vmax)
    if low_b == high_b:
        ends = (low_a // low_b, high_a // low_b)
        return fit(min(ends), max(ends), u.dtype)
    corners = (low_a // low_b, low_a // high_b, high_a // low_b, high_a // high_b)
    return fit(min(corners), max(corners), u.dtype)


def trunc_div_bounds(u: UOp) -> Bounds:
    """Bound a / b rounded toward zero."""
    a, b = u.src
    if is_float_dtype(u.dtype):
        return UNKNOWN_FLOAT
    low_b, high_b = int(b.vmin), int(b.vmax)
    if low_b <= 0 <= high_b:
        return dtype_bounds(u.dtype)
    corners = [truncating_div(int(x), y) for x in (a.vmin, a.vmax) for y in (low_b, high_b)]
    return fit(min(corners), max(corners), u.dtype)


def _positive_mod(low: int, high: int, low_d: int, high_d: int) -> tuple[int, int]:
    """Bound the floor modulo of [low, high] by a positive divisor in [low_d, high_d]."""
    if low >= 0 and high < low_d:
        return low, high
    if low_d == high_d and low // low_d == high // low_d:
        return low % low_d, high % low_d
    return 0, min(high_d - 1, high) if low >= 0 else high_d - 1


def floor_mod_bounds(u: UOp) -> Bounds:
    """Bound a % b with the sign of b."""
    a, b = u.src
    if is_float_dtype(u.dtype):
        return UNKNOWN_FLOAT
    low_b, high_b = int(b.vmin), int(b.vmax)
    if low_b > 0:
        return _positive_mod(int(a.vmin), int(a.vmax), low_b, high_b)
    if high_b < 0:
        # a % b is -((-a) % (-b))
        low, high = _positive_mod(-int(a.vmax), -int(a.vmin), -high_b, -low_b)
        return -high, -low
    return dtype_bounds(u.dtype)


def trunc_mod_bounds(u: UOp) -> Bounds:
    """Bound a % b with the sign of a."""
    a, b = u.src
    if is_float_dtype(u.dtype):
        return UNKNOWN_FLOAT
    if b.vmin <= 0 <= b.vmax:
        return dtype_bounds(u.dtype)
    low_d, high_d = sorted((abs(int(b.vmin)), abs(int(b.vmax))))
    low, high = int(a.vmin), int(a.vmax)
    if low >= 0:
        return _positive_mod(low, high, low_d, high_d)
    if high <= 0:
        low, high = _positive_mod(-high, -low, low_d, high_d)
        return -high, -low
    return max(low, 1 - high_d), min(high, high_d - 1)
