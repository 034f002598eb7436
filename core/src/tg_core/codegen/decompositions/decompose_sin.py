"""SIN of float32 and float64 from arithmetic, for every argument, however large: within 1.5 ulp,
2.5 for float32 on targets without float64.

The argument is reduced with integers (Payne and Hanek, "Radian reduction for trigonometric
functions", SIGNUM Newsletter 18, 1983): of `2/pi` only the bits matter whose product with the
mantissa lies below 4. They are selected from a table by a barrel shifter over the exponent,
multiplied exactly, and give the quadrant and a signed fraction with more bits than the closest
argument to a multiple of `pi/2` can cancel.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import Final

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


def reduce_float32(x: UOp, wide: bool) -> tuple[UOp, UOp]:
    """Return (quadrant modulo 4 as uint64, remainder in [-pi/4, pi/4]) of a float32 that is at
    least pi/4.

    Args:
        x: float32.
        wide: the remainder is scaled in float64, and rounded once.
    """
    mantissa, start = _mantissa_and_start(x)
    a0, a1, a2 = _window(start, 3, _PADDING[x.dtype], 104 - 2 + _PADDING[x.dtype])
    product = shift_left(mantissa * a0, _WORD) + mantissa * a1 + shift_right(mantissa * a2, _WORD)
    quadrant = shift_right(product + lit(1 << 61, product), 62)
    fraction = (product - shift_left(quadrant, 62)).bitcast(dtypes.int64)
    scaled = fraction.cast(dtypes.float64 if wide else x.dtype)
    return quadrant, (scaled * lit(math.pi / 2 * 2.0**-62, scaled)).cast(x.dtype)


def reduce_float64(x: UOp) -> tuple[UOp, UOp]:
    """Return (quadrant modulo 4 as uint64, remainder in [-pi/4, pi/4]) of a float64 that is at
    least pi/4.
    """
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


def _scaled_fraction(high: UOp, low: UOp, x: UOp) -> UOp:
    """Return `(high * 2^64 + low) * 2^-126 * pi/2` as a float64; the sum is normalised first, since
    a small `high` has few bits.
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
    pi_high, pi_low = lit(math.pi / 2, x), lit(6.123233995736766e-17, x)
    remainder = fraction * pi_high + (fraction * pi_low + rest * pi_high)
    return choose(negative, lit(0.0, x) - remainder, remainder)


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


def sine_of_remainder(quadrant: UOp, r: UOp) -> UOp:
    """Return the sine of `quadrant * pi/2 + r`, `|r| <= pi/4`."""
    terms = _TERMS[r.dtype]
    z = r * r
    sine = r + r * z * polynomial(
        z, [(-1.0) ** (k + 1) / math.factorial(2 * k + 3) for k in range(terms)]
    )
    # 1 - z/2 is split so that the rounding of the subtraction is given back
    half = lit(0.5, r) * z
    top = lit(1.0, r) - half
    rest = z * z * polynomial(z, [(-1.0) ** k / math.factorial(2 * k + 4) for k in range(terms)])
    cosine = top + (((lit(1.0, r) - top) - half) + rest)
    odd = negate(is_equal(quadrant & lit(1, quadrant), 0))
    value = choose(odd, cosine, sine)
    flipped = negate(is_equal(quadrant & lit(2, quadrant), 0))
    return choose(flipped, lit(0.0, r) - value, value)


def decompose_sin(x: UOp) -> UOp:
    """SIN(x) -> exact reduction and polynomials. sin(-x) = -sin(x), sin(-0.0) = -0.0, infinities
    and NaN give NaN.
    """
    return _sine(x, wide=False)


def decompose_sin_in_double(x: UOp) -> UOp:
    """SIN(x) of float32 -> the same, with the remainder scaled in float64. A more exact remainder
    changes nothing else.
    """
    return _sine(x, wide=True)


def _sine(x: UOp, wide: bool) -> UOp:
    size = magnitude(x)
    finite = less(size, lit(math.inf, x))
    large = choose(finite, size, lit(1.0, x))
    quadrant, remainder = (
        reduce_float32(large, wide) if x.dtype is dtypes.float32 else reduce_float64(large)
    )
    small = less(size, lit(math.pi / 4, x))
    quadrant = choose(small, lit(0, quadrant), quadrant)
    value = sine_of_remainder(quadrant, choose(small, size, remainder))
    value = choose(less(x, lit(0.0, x)), lit(0.0, x) - value, value)
    # the value itself where it is so small that the sine rounds to it, which keeps the sign of zero
    value = choose(less(size, lit(2.0 ** -(LAYOUTS[x.dtype].mantissa_bits // 2 + 2), x)), x, value)
    return choose(finite, value, lit(math.nan, x))


rules = PatternMatcher([(UPat(Ops.SIN, (UPat.var("x", dtype=tuple(LAYOUTS)),)), decompose_sin)])
"""For targets without float64."""

rules_with_double = (
    PatternMatcher(
        [(UPat(Ops.SIN, (UPat.var("x", dtype=dtypes.float32),)), decompose_sin_in_double)]
    )
    + rules
)
"""For targets with float64."""
