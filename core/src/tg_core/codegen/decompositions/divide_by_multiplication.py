"""Division by constants as a multiplication and a shift, for targets without integer division.

For a divisor d and 0 <= x <= N there are m and s with `x // d == (x * m) >> s`. Negative values are
mapped to others and back by their sign bits, or moved up by a multiple of d where they have no
width. Products that leave 64 bits are computed in halves of 32 bits.

Rules are shape agnostic: they also apply to lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

if TYPE_CHECKING:
    from tg_core.dtype import DType

_UNSIGNED: Final = {
    dtypes.int8: dtypes.uint8,
    dtypes.int16: dtypes.uint16,
    dtypes.int32: dtypes.uint32,
    dtypes.int64: dtypes.uint64,
}
_LOW: Final = (1 << 32) - 1


def multiplier(divisor: int, largest: int) -> tuple[int, int]:
    """Find the smallest s, and m, so that `x // divisor == (x * m) >> s` for 0 <= x <= largest.

    With `m = ceil(2**s / d)` and `e = m*d - 2**s` the shifted product is `x/d + x*e / (d * 2**s)`,
    which stays below the next multiple of d where `x*e < (d - x % d) * 2**s`. The left side grows
    with x and the right side falls with the remainder: the last x of remainder d - 1 and the
    largest x of all decide.

    Args:
        divisor: at least 1.
        largest: at least 0.

    Returns:
        m and s.
    """
    last = largest - (largest + 1) % divisor
    shift = 0
    while True:
        factor = -(-(1 << shift) // divisor)
        excess = factor * divisor - (1 << shift)
        carries = last >= 0 and last * excess >= 1 << shift
        room = (divisor - largest % divisor) << shift
        if not carries and largest * excess < room:
            return factor, shift
        shift += 1


def quotient_of(x: UOp, divisor: int, largest: int) -> UOp:
    """Return `x // divisor`, of x's dtype.

    Args:
        x: an integer node, never negative.
        divisor: at least 1.
        largest: the greatest value of x.
    """
    factor, shift = multiplier(divisor, largest)
    wide = _product_dtype(x.dtype, largest * factor)
    if wide is not None:
        product = UOp(Ops.MUL, (_cast(x, wide), UOp.const(factor, wide)))
        return _cast(UOp(Ops.SHR, (product, UOp.const(shift, wide))), x.dtype)
    return _cast(_shifted_high_product(_cast(x, dtypes.uint64), factor, shift), x.dtype)


def _product_dtype(dtype: DType, largest: int) -> DType | None:
    """Return the narrowest dtype in which a product is exact, None where there is none."""
    if dtype is dtypes.weakint:
        return dtype if largest < 1 << 63 else None
    if largest < 1 << 31:
        return dtypes.uint32 if dtype is dtypes.uint32 else dtypes.int32
    if largest < 1 << 32 and dtype is dtypes.uint32:
        return dtype
    if largest < 1 << 63:
        return dtypes.int64
    return dtypes.uint64 if largest < 1 << 64 else None


def _cast(x: UOp, dtype: DType) -> UOp:
    return x if x.dtype is dtype else UOp(Ops.CAST, (x,), dtype)


def _shifted_high_product(x: UOp, factor: int, shift: int) -> UOp:
    """Return `(x * factor) >> shift` of an exact product, for uint64 x and a factor below 2**65."""
    if shift < 64:
        factor, shift = factor << (64 - shift), 64
    high = _high_product(x, factor & ((1 << 64) - 1))
    if factor >> 64 == 0:
        return _shifted(high, shift - 64)
    # x * 2**64 is missing, and x + high may need 65 bits: half of their difference does not
    half = _shifted(UOp(Ops.SUB, (x, high)), 1)
    return _shifted(UOp(Ops.ADD, (half, high)), shift - 65)


def _shifted(x: UOp, amount: int) -> UOp:
    return x if amount == 0 else UOp(Ops.SHR, (x, UOp.const(amount, x.dtype)))


def _high_product(x: UOp, factor: int) -> UOp:
    """Return the upper 64 bits of the product of 64-bit numbers, from products of their halves."""

    def times(half: UOp, number: int) -> UOp:
        return UOp(Ops.MUL, (half, UOp.const(number, dtypes.uint64)))

    def low(value: UOp) -> UOp:
        return UOp(Ops.AND, (value, UOp.const(_LOW, dtypes.uint64)))

    upper, lower = _shifted(x, 32), low(x)
    first, second = factor >> 32, factor & _LOW
    middle = UOp(Ops.ADD, (times(upper, second), _shifted(times(lower, second), 32)))
    crossed = UOp(Ops.ADD, (low(middle), times(lower, first)))
    carried = UOp(Ops.ADD, (_shifted(middle, 32), _shifted(crossed, 32)))
    return UOp(Ops.ADD, (times(upper, first), carried))


# ---- values of any sign


def _positive_constant(node: UOp) -> int | None:
    value = node.const_value
    return value if type(value) is int and value > 0 else None


def _sign_bits(x: UOp) -> UOp:
    """Return -1 for negative values and 0 for others."""
    return UOp(Ops.SHR, (x, UOp.const(x.dtype.bits - 1, x.dtype)))


def multiply_floordiv(x: UOp, divisor: UOp) -> UOp | None:
    """FLOORDIV(x, d) -> (x * m) >> s for a positive constant d.

    Of a negative x the complement is divided: `x // d == ~(~x // d)`. Without a width, a multiple
    of d is added before and its quotient taken away after.
    """
    d = _positive_constant(divisor)
    if d is None:
        return None
    low, high = int(x.vmin), int(x.vmax)
    if low >= 0:
        return quotient_of(x, d, high)
    if x.dtype is dtypes.weakint:
        turns = -(low // d)
        moved = UOp(Ops.ADD, (x, UOp.const(turns * d)))
        return UOp(Ops.SUB, (quotient_of(moved, d, high + turns * d), UOp.const(turns)))
    sign = _sign_bits(x)
    inner = quotient_of(UOp(Ops.XOR, (x, sign)), d, max(high, -low - 1))
    return UOp(Ops.XOR, (inner, sign))


def multiply_cdiv(x: UOp, divisor: UOp) -> UOp | None:
    """CDIV(x, d) -> the quotient of the magnitudes, with the sign of x times that of d."""
    d = divisor.const_value
    if type(d) is not int or d == 0:
        return None
    if d > 0:
        return _truncated(x, d)
    if -d > _most(x.dtype):
        # the least number of the width divides only itself
        return _cast(UOp(Ops.CMPEQ, (x, UOp.const(d, x.dtype))), x.dtype)
    return UOp(Ops.SUB, (UOp.const(0, x.dtype), _truncated(x, -d)))


def _most(dtype: DType) -> int:
    return 1 << 127 if dtype is dtypes.weakint else int(dtypes.max(dtype))


def _truncated(x: UOp, d: int) -> UOp:
    low, high = int(x.vmin), int(x.vmax)
    if low >= 0:
        return quotient_of(x, d, high)
    if x.dtype is dtypes.weakint:
        zero = UOp.const(0)
        above = UOp(Ops.MAX, (x, zero))
        below = UOp(Ops.MAX, (UOp(Ops.MUL, (x, UOp.const(-1))), zero))
        parts = quotient_of(above, d, max(high, 0)), quotient_of(below, d, -low)
        return UOp(Ops.SUB, parts)
    sign = _sign_bits(x)
    magnitude = _cast(_with_sign(x, sign), _UNSIGNED[x.dtype])
    return _with_sign(_cast(quotient_of(magnitude, d, max(high, -low)), x.dtype), sign)


def _with_sign(x: UOp, sign: UOp) -> UOp:
    """Return -x where the sign bits are set."""
    return UOp(Ops.SUB, (UOp(Ops.XOR, (x, sign)), sign))


def _remainder(x: UOp, divisor: UOp, quotient: UOp | None) -> UOp | None:
    if quotient is None:
        return None
    return UOp(Ops.SUB, (x, UOp(Ops.MUL, (quotient, divisor))))


def multiply_floormod(x: UOp, divisor: UOp) -> UOp | None:
    """FLOORMOD(x, d) -> x - (x // d) * d for a positive constant d."""
    return _remainder(x, divisor, multiply_floordiv(x, divisor))


def multiply_cmod(x: UOp, divisor: UOp) -> UOp | None:
    """CMOD(x, d) -> x - (x / d) * d for a constant d."""
    return _remainder(x, divisor, multiply_cdiv(x, divisor))


def _operands(op: Ops) -> UPat:
    integers = (dtypes.weakint, *dtypes.ints)
    return UPat(op, (UPat.var("x"), UPat.cvar("divisor")), dtype=integers)


rules: Final = PatternMatcher(
    [
        (_operands(Ops.FLOORDIV), multiply_floordiv),
        (_operands(Ops.FLOORMOD), multiply_floormod),
        (_operands(Ops.CDIV), multiply_cdiv),
        (_operands(Ops.CMOD), multiply_cmod),
    ]
)
"""Division without division."""
