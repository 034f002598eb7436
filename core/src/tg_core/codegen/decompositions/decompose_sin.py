"""SIN of float32 and float64 from arithmetic, for every argument, however large: within 1 ulp.

The argument is reduced with integers (Payne and Hanek, "Radian reduction for trigonometric
functions", SIGNUM Newsletter 18, 1983): of `2/pi` only the bits matter whose product with the
mantissa lies below 4. They are selected from a table by a barrel shifter over the exponent,
multiplied exactly, and give the quadrant and a signed fraction with more bits than the closest
argument to a multiple of `pi/2` can cancel. The remainder is a sum of two floats, the second of
which holds what the first rounded away.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Final

from tg_core.codegen.decompositions.error_free import Pair, exact_product, quick_sum
from tg_core.codegen.decompositions.utils import (
    LAYOUTS,
    choose,
    is_equal,
    less,
    lit,
    magnitude,
    negate,
    polynomial,
    shift_left,
    shift_right,
)
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

_WORD: Final = 32
_MASK: Final = (1 << _WORD) - 1
# number of words of 2/pi that meet the mantissa, and zero bits before the table so that small
# exponents index it too
_WINDOW: Final = {dtypes.float32: 3, dtypes.float64: 6}
_PADDING: Final = {dtypes.float32: 32, dtypes.float64: 64}
# Taylor terms that matter up to pi/4
_TERMS: Final = {dtypes.float32: 5, dtypes.float64: 9}

# half of pi as a float and what is missing (computed with 60 digits)
_HALF_PI: Final = {
    dtypes.float32: (1.57079637050628662109375, -4.371139000186243e-08),
    dtypes.float64: (1.5707963267948966, 6.123233995736766e-17),
}


def _pi_times(scale: int) -> int:
    """Return `pi * scale` rounded down to a few units, by Machin's formula."""

    def arctan_inverse(divisor: int) -> int:
        total, term, k = 0, scale // divisor, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= divisor * divisor
            k += 2
        return total

    return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


@cache
def two_over_pi_words(padding: int, count: int) -> tuple[int, ...]:
    """Return `count` words of 32 bits: `padding` zero bits, then the bits of 2/pi after the binary
    point.
    """
    bits = count * _WORD - padding
    guard = 128
    scaled = (2 << (2 * (bits + guard))) // _pi_times(1 << (bits + guard))
    value = scaled >> guard
    return tuple(value >> (_WORD * (count - 1 - i)) & _MASK for i in range(count))


def _shift_words(words: list[UOp], amount: UOp, steps: int, needed: int) -> list[UOp]:
    """Return `needed` words starting at a word offset of `steps` bits, largest power first."""
    for bit in reversed(range(steps)):
        keep = needed + (1 << bit) - 1
        chosen = negate(is_equal(amount & lit(1 << bit, amount), 0))
        distance = 1 << bit
        words = [
            choose(chosen, words[i + distance], words[i]) if i + distance < len(words) else words[i]
            for i in range(min(keep, len(words)))
        ]
    return words


def _window(start: UOp, count: int, padding: int, last: int) -> list[UOp]:
    """Return `count` words of the table beginning at bit `start`, as uint64 values below 2^32."""
    steps = (last // _WORD).bit_length()
    table = two_over_pi_words(padding, last // _WORD + count + 1)
    words = [UOp.const(w, dtypes.uint64) for w in table]
    words = _shift_words(words, shift_right(start, 5), steps, count + 1)
    offset = (start & lit(_WORD - 1, start)).cast(dtypes.uint64)
    mask = UOp.const(_MASK, dtypes.uint64)
    result: list[UOp] = []
    for high, low in pairwise(words):
        pair = shift_left(high, _WORD) | low
        shifted = shift_right(UOp(Ops.SHL, (pair, offset)), _WORD)
        result.append(shifted & mask)
    return result


def reduce_argument(x: UOp, wide: bool) -> tuple[UOp, Pair]:
    """Return (quadrant modulo 4 as uint64, remainder in [-pi/4, pi/4] as a sum of two) of a float
    that is at least pi/4.

    Args:
        x: float32 or float64.
        wide: the remainder of a float32 is scaled in float64.
    """
    return _reduce_float64(x) if x.dtype is dtypes.float64 else _reduce_float32(x, wide)


def _reduce_float32(x: UOp, wide: bool) -> tuple[UOp, Pair]:
    mantissa, start = _mantissa_and_start(x)
    a0, a1, a2 = _window(start, 3, _PADDING[x.dtype], 104 - 2 + _PADDING[x.dtype])
    product = shift_left(mantissa * a0, _WORD) + mantissa * a1 + shift_right(mantissa * a2, _WORD)
    quadrant = shift_right(product + lit(1 << 61, product), 62)
    fraction = (product - shift_left(quadrant, 62)).bitcast(dtypes.int64)
    if wide:
        scaled = fraction.cast(dtypes.float64)
        remainder = scaled * lit(math.pi / 2 * 2.0**-62, scaled)
        high = remainder.cast(x.dtype)
        return quadrant, (high, (remainder - high.cast(dtypes.float64)).cast(x.dtype))
    leading = fraction.cast(x.dtype)
    following = (fraction - leading.cast(dtypes.int64)).cast(x.dtype)
    scale = lit(2.0**-62, x)
    return quadrant, _times_half_pi(leading * scale, following * scale)


def _times_half_pi(value: UOp, rest: UOp) -> Pair:
    """Return `(value + rest) * pi/2`, where the rest is small, as a sum of two."""
    high, low = (lit(part, value) for part in _HALF_PI[value.dtype])
    product, error = exact_product(value, high)
    return quick_sum(product, error + (value * low + rest * high))


def _reduce_float64(x: UOp) -> tuple[UOp, Pair]:
    mantissa, start = _mantissa_and_start(x)
    window = _window(start, 6, _PADDING[x.dtype], 971 - 2 + _PADDING[x.dtype])
    mask = UOp.const(_MASK, dtypes.uint64)
    low_half, high_half = mantissa & mask, shift_right(mantissa, _WORD)
    limbs = list(reversed(window))
    carry = UOp.const(0, dtypes.uint64)
    columns: list[UOp] = []
    for i in range(6):
        # the high word of a product may be 32 bits full: split before adding, so that no column
        # overflows 64 bits
        first = low_half * limbs[i]
        total = carry + (first & mask)
        carry = shift_right(first, _WORD)
        if i:
            second = high_half * limbs[i - 1]
            total = total + (second & mask)
            carry = carry + shift_right(second, _WORD)
        columns.append(total & mask)
        carry = carry + shift_right(total, _WORD)
    low = columns[2] | shift_left(columns[3], _WORD)
    high = columns[4] | shift_left(columns[5], _WORD)
    quadrant = shift_right(high + lit(1 << 61, high), 62)
    high = (high - shift_left(quadrant, 62)).bitcast(dtypes.int64)
    return quadrant, _scaled_fraction(high, low, x)


def _scaled_fraction(high: UOp, low: UOp, x: UOp) -> Pair:
    """Return `(high * 2^64 + low) * 2^-126 * pi/2` as a sum of two float64; the sum is normalised
    first, since a small `high` has few bits.
    """
    negative = less(high, lit(0, high))
    one = lit(1, low)
    bits = high.bitcast(dtypes.uint64)
    inverted_low = (low ^ lit((1 << 64) - 1, low)) + one
    inverted_high = (bits ^ lit((1 << 64) - 1, bits)) + choose(is_equal(low, 0), one, lit(0, low))
    low, bits = choose(negative, inverted_low, low), choose(negative, inverted_high, bits)
    # high words below 2^62: the top 32 bits are exact as a double, and so is each of the three
    # others
    parts = [
        shift_right(bits, _WORD),
        bits & lit(_MASK, bits),
        shift_right(low, _WORD),
        low & lit(_MASK, low),
    ]
    weights = [2.0**-30, 2.0**-62, 2.0**-94, 2.0**-126]
    doubles = [p.cast(dtypes.float64) * lit(w, x) for p, w in zip(parts, weights, strict=True)]
    tail = doubles[2] + doubles[3]
    leading = doubles[0] + doubles[1]
    error = doubles[1] - (leading - doubles[0])
    fraction = leading + (error + tail)
    rest = (leading - fraction) + (error + tail)
    sign = choose(negative, lit(-1.0, x), lit(1.0, x))
    return _times_half_pi(sign * fraction, sign * rest)


def _mantissa_and_start(x: UOp) -> tuple[UOp, UOp]:
    """Return the integer mantissa as uint64, and the position in the table of the bit of 2/pi whose
    product weighs 2.
    """
    layout = LAYOUTS[x.dtype]
    bits = x.bitcast(layout.unsigned)
    field = shift_right(bits, layout.mantissa_bits) & lit(layout.exponent_mask, bits)
    mantissa = (bits & lit((1 << layout.mantissa_bits) - 1, bits)) | lit(
        1 << layout.mantissa_bits, bits
    )
    exponent = field.cast(dtypes.int32)
    start = exponent + lit(_PADDING[x.dtype] - layout.bias - layout.mantissa_bits - 2, exponent)
    # arguments below pi/4 are handled without reduction, and their position must not be negative
    start = choose(less(start, lit(0, start)), lit(0, start), start)
    return mantissa.cast(dtypes.uint64), start


def reduced(x: UOp, size: UOp, wide: bool) -> tuple[UOp, Pair]:
    """Return quadrant and remainder of any float by its size; unspecified where it is not finite.

    Args:
        x: float32 or float64.
        size: its magnitude.
        wide: as for `reduce_argument`.
    """
    large = choose(less(size, lit(math.inf, x)), size, lit(1.0, x))
    quadrant, (high, low) = reduce_argument(large, wide)
    small = less(size, lit(math.pi / 4, x))
    return (
        choose(small, lit(0, quadrant), quadrant),
        (choose(small, size, high), choose(small, lit(0.0, x), low)),
    )


def sine_and_cosine(remainder: Pair) -> tuple[Pair, Pair]:
    """Return the sine and the cosine of a remainder within pi/4: what is exact and the rest, at
    most as large as half of it, which the caller adds.
    """
    r, low = remainder
    terms = _TERMS[r.dtype]
    z = r * r
    half = lit(0.5, r) * z
    # 1 - z/2 is split so that the rounding of the subtraction is given back
    top = lit(1.0, r) - half
    sine = polynomial(z, [(-1.0) ** (k + 1) / math.factorial(2 * k + 3) for k in range(terms)])
    cosine = polynomial(z, [(-1.0) ** k / math.factorial(2 * k + 4) for k in range(terms)])
    sine_rest = r * z * sine + low * top
    cosine_rest = ((lit(1.0, r) - top) - half) + (z * z * cosine - r * low)
    return (r, sine_rest), (top, cosine_rest)


def is_odd(quadrant: UOp) -> UOp:
    """Return where sine and cosine change places."""
    return negate(is_equal(quadrant & lit(1, quadrant), 0))


def sine_in_quadrant(quadrant: UOp, remainder: Pair) -> UOp:
    """Return the sine of `quadrant * pi/2` plus the remainder."""
    sine, cosine = sine_and_cosine(remainder)
    value = choose(is_odd(quadrant), cosine[0] + cosine[1], sine[0] + sine[1])
    flipped = negate(is_equal(quadrant & lit(2, quadrant), 0))
    return choose(flipped, lit(0.0, value) - value, value)


def settle_odd(x: UOp, size: UOp, value: UOp) -> UOp:
    """Return an odd function that is `x + O(x^3)` from its value at the size of `x`: signed, `x`
    itself where it is so small that the function rounds to it, which keeps the sign of zero, and
    NaN where `x` is not finite.
    """
    value = choose(less(x, lit(0.0, x)), lit(0.0, x) - value, value)
    value = choose(less(size, lit(2.0 ** -(LAYOUTS[x.dtype].mantissa_bits // 2 + 2), x)), x, value)
    return choose(less(size, lit(math.inf, x)), value, lit(math.nan, x))


def decompose_sin(x: UOp) -> UOp:
    """SIN(x) -> exact reduction and polynomials. sin(-x) = -sin(x), sin(-0.0) = -0.0, infinities
    and NaN give NaN.
    """
    return _sine(x, wide=False)


def decompose_sin_in_double(x: UOp) -> UOp:
    """SIN(x) of float32 -> the same, with the remainder scaled in float64. It is as exact, in fewer
    steps.
    """
    return _sine(x, wide=True)


def _sine(x: UOp, wide: bool) -> UOp:
    size = magnitude(x)
    return settle_odd(x, size, sine_in_quadrant(*reduced(x, size, wide)))


rules = PatternMatcher([(UPat(Ops.SIN, (UPat.var("x", dtype=tuple(LAYOUTS)),)), decompose_sin)])
"""For targets without float64."""

rules_with_double = (
    PatternMatcher(
        [(UPat(Ops.SIN, (UPat.var("x", dtype=dtypes.float32),)), decompose_sin_in_double)]
    )
    + rules
)
"""For targets with float64."""
