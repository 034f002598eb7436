"""POW of floats and integers from arithmetic.

float32 goes through float64 where the target has it: below 1 ulp. Otherwise, and for float64, the
logarithm is kept as an unevaluated sum of two numbers (error-free sums and products), since its
error is multiplied by up to 1024: within 4 ulp.
"""

from __future__ import annotations

import math
from typing import Final

from tg_core.codegen.decompositions.decompose_exp2 import exp2_of_sum
from tg_core.codegen.decompositions.decompose_log2 import split_exponent
from tg_core.codegen.decompositions.error_free import Pair, exact_product, exact_sum, quick_sum
from tg_core.codegen.decompositions.utils import (
    LAYOUTS,
    choose,
    is_equal,
    is_nan,
    less,
    lit,
    magnitude,
    negate,
    polynomial,
    shift_right,
)
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

# terms of the atanh series beyond the first two, for s^2 <= 0.0295
_TERMS: Final = {dtypes.float32: 4, dtypes.float64: 10}
_INVERSE_LN2: Final = {
    dtypes.float32: (1.4426950216293335, 1.925963033500011e-08),
    dtypes.float64: (1.4426950408889634, 2.0355273740931033e-17),
}
_TWO_THIRDS: Final = {
    dtypes.float32: (0.6666666865348816, -1.9868215517249155e-08),
    dtypes.float64: (0.6666666666666666, 3.700743415417188e-17),
}


def _pair_product(a: Pair, b: Pair) -> Pair:
    high, low = exact_product(a[0], b[0])
    return quick_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def _pair_sum(a: Pair, b: Pair) -> Pair:
    high, low = exact_sum(a[0], b[0])
    return quick_sum(high, low + (a[1] + b[1]))


def _pair(value: tuple[float, float], like: UOp) -> Pair:
    return lit(value[0], like), lit(value[1], like)


def extended_log2(x: UOp) -> Pair:
    """Return the logarithm to base 2 of a positive finite number as an unevaluated sum of two."""
    exponent, mantissa = split_exponent(x)
    f = mantissa - lit(1.0, x)
    divisor, divisor_low = exact_sum(lit(2.0, x), f)
    s = f / divisor
    back, back_error = exact_product(s, divisor)
    s_low = ((f - back) - back_error - s * divisor_low) / divisor
    z = _pair_product((s, s_low), (s, s_low))
    tail = polynomial(z[0], [2.0 / (2 * k + 5) for k in range(_TERMS[x.dtype])]) * z[0] * z[0] * s
    cubic = _pair_product(_pair_product(_pair(_TWO_THIRDS[x.dtype], x), z), (s, s_low))
    two = lit(2.0, x)
    natural = _pair_sum((s * two, s_low * two), (cubic[0], cubic[1] + tail))
    scaled = _pair_product(natural, _pair(_INVERSE_LN2[x.dtype], x))
    high, low = exact_sum(exponent, scaled[0])
    return quick_sum(high, low + scaled[1])


def _positive_power(base: UOp, exponent: UOp) -> UOp:
    """Return `base^exponent` for a positive finite base and finite exponent."""
    logarithm = extended_log2(base)
    high, low = exact_product(exponent, logarithm[0])
    low = low + exponent * logarithm[1]
    total, error = quick_sum(high, low)
    # an overflowing product has no error term
    bounded = less(magnitude(total), lit(2.0 ** (LAYOUTS[total.dtype].mantissa_bits - 8), total))
    return exp2_of_sum(choose(bounded, total, high), choose(bounded, error, lit(0.0, total)))


def _settle(base: UOp, exponent: UOp, result: UOp) -> UOp:
    """Put signs and special cases of IEEE 754-2019, 9.2.1 (pow) around the power of the
    magnitude.
    """
    zero, one, infinity = lit(0.0, base), lit(1.0, base), lit(math.inf, base)
    size, power = magnitude(base), magnitude(exponent)
    whole = UOp(Ops.CMPEQ, (UOp(Ops.TRUNC, (exponent,)), exponent))
    halved = exponent * lit(0.5, exponent)
    odd = whole & UOp(Ops.CMPNE, (UOp(Ops.TRUNC, (halved,)), halved)) & less(power, infinity)
    rising = less(zero, exponent)
    # a zero or infinite base
    extreme = choose(UOp(Ops.CMPEQ, (is_equal(size, 0.0), rising)), zero, infinity)
    result = choose(is_equal(size, 0.0) | is_equal(size, math.inf), extreme, result)
    # an infinite exponent
    limit = choose(UOp(Ops.CMPEQ, (less(one, size), rising)), infinity, zero)
    limit = choose(is_equal(size, 1.0), one, limit)
    result = choose(is_equal(power, math.inf), limit, result)
    layout = LAYOUTS[base.dtype]
    bits = base.bitcast(layout.integer)
    negative = less(bits, lit(0, bits))
    result = choose(negative & odd, result * lit(-1.0, result), result)
    improper = less(base, zero) & negate(whole) & less(size, infinity)
    result = choose(improper, lit(math.nan, base), result)
    result = choose(is_nan(base) | is_nan(exponent), lit(math.nan, base), result)
    return choose(is_equal(exponent, 0.0) | is_equal(base, 1.0), one, result)


def decompose_pow(base: UOp, exponent: UOp) -> UOp:
    """POW(b, e) -> sign * 2^(e * log2 |b|). Special cases as IEEE 754-2019, 9.2.1, e.g. pow(x, 0) =
    1 and pow(-8, 1/3) = NaN.
    """
    infinity = lit(math.inf, base)
    size, power = magnitude(base), magnitude(exponent)
    ordinary = less(size, infinity) & less(lit(0.0, base), size)
    safe_base = choose(ordinary, size, lit(1.0, base))
    safe_exponent = choose(less(power, infinity), exponent, lit(1.0, exponent))
    return _settle(base, exponent, _positive_power(safe_base, safe_exponent))


def decompose_pow_in_double(base: UOp, exponent: UOp) -> UOp:
    """POW(b, e) of float32 -> special cases around 2^(e * log2 |b|) in float64. Its error there is
    far below half an ulp.
    """
    infinity = lit(math.inf, base)
    size, power = magnitude(base), magnitude(exponent)
    ordinary = less(size, infinity) & less(lit(0.0, base), size)
    safe_base = choose(ordinary, size, lit(1.0, base)).cast(dtypes.float64)
    safe_exponent = choose(less(power, infinity), exponent, lit(1.0, exponent)).cast(dtypes.float64)
    result = UOp(Ops.EXP2, (safe_exponent * UOp(Ops.LOG2, (safe_base,)),))
    return _settle(base, exponent, result.cast(dtypes.float32))


def decompose_integer_pow(base: UOp, exponent: UOp) -> UOp:
    """POW(b, e) of integers -> repeated squaring over the bits of e.

    Wraps like multiplication. A negative exponent gives the truncated quotient: 1 for base 1, +-1
    for base -1, else 0.
    """
    one, zero = lit(1, base), lit(0, base)
    result, square = one, base
    for bit in range(base.dtype.bits):
        is_set = negate(is_equal(shift_right(exponent, bit) & lit(1, exponent), 0))
        result = choose(is_set, result * square, result)
        square = square * square
    if dtypes.is_unsigned(base.dtype):
        return result
    odd = negate(is_equal(exponent & lit(1, exponent), 0))
    inverse = choose(
        is_equal(base, 1), one, choose(is_equal(base, -1), choose(odd, lit(-1, base), one), zero)
    )
    return choose(less(exponent, lit(0, exponent)), inverse, result)


_OPERANDS: Final = (UPat.var("base"), UPat.var("exponent"))

rules = PatternMatcher(
    [
        (UPat(Ops.POW, _OPERANDS, dtype=tuple(LAYOUTS)), decompose_pow),
        (UPat(Ops.POW, _OPERANDS, dtype=dtypes.ints), decompose_integer_pow),
    ]
)
"""For targets without float64."""

rules_with_double = (
    PatternMatcher([(UPat(Ops.POW, _OPERANDS, dtype=dtypes.float32), decompose_pow_in_double)])
    + rules
)
"""For targets with float64."""
