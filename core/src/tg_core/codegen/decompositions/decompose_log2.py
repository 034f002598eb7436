"""LOG2 of float32 and float64 from arithmetic, within about 1 ulp over the whole range, subnormals
included.

`x = 2^e * m` with `m` in [sqrt(1/2), sqrt(2))`. With `f = m - 1` and `s = f / (2 + f)`, `ln(m) = 2
atanh(s) = f - f^2/2 + s * (f^2/2 + s^2 * (2/3 + 2/5 s^2 + ...))`, where the large part `f - f^2/2`
is split in two, so that the product with `1/ln(2)` and the sum with `e` lose nothing that shows.
"""

from __future__ import annotations

import math
from typing import Final

from tg_core.codegen.decompositions.utils import (
    LAYOUTS,
    choose,
    is_equal,
    is_nan,
    less,
    lit,
    polynomial,
    shift_left,
    shift_right,
)
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

# terms of the atanh series that matter for s^2 <= 0.0295
_TERMS: Final = {dtypes.float32: 5, dtypes.float64: 11}
# low mantissa bits cleared in the high parts, so that their product is exact
_CLEARED: Final = {dtypes.float32: 12, dtypes.float64: 32}
# 1/ln(2) split into a short head and the rest (computed with 60 digits:
# 1.4426950408889634073599246810018921374266459541529859341354494)
_HEAD: Final = {dtypes.float32: 2954 / 2048, dtypes.float64: 3025550 / 2097152}
_TAIL: Final = {dtypes.float32: 0.00031222838896340733, dtypes.float64: 3.768874985636099e-07}
_SUBNORMAL_SHIFT: Final = {dtypes.float32: 25, dtypes.float64: 54}


def split_exponent(x: UOp) -> tuple[UOp, UOp]:
    """Return `(e, m)` with `x = 2^e * m`, both at the dtype of `x`, `m` in [sqrt(1/2), sqrt(2)).

    Args:
        x: float32 or float64, positive and finite where the result matters.
    """
    dtype, layout = x.dtype, LAYOUTS[x.dtype]
    shift = _SUBNORMAL_SHIFT[dtype]
    tiny = less(x, lit(2.0 ** (1 - layout.bias), x))
    bits = choose(tiny, x * lit(2.0**shift, x), x).bitcast(layout.integer)
    root = _bits_of(math.sqrt(0.5), dtype)
    exponent = shift_right(bits - lit(root, bits), layout.mantissa_bits)
    mantissa = (bits - shift_left(exponent, layout.mantissa_bits)).bitcast(dtype)
    whole = exponent.cast(dtype) - choose(tiny, lit(float(shift), x), lit(0.0, x))
    return whole, mantissa


def _bits_of(value: float, dtype: DType) -> int:
    import struct

    float_format, int_format = ("<f", "<i") if dtype is dtypes.float32 else ("<d", "<q")
    bits: int = struct.unpack(int_format, struct.pack(float_format, value))[0]
    return bits


def clear_low_bits(x: UOp, count: int) -> UOp:
    """Return a float with its last `count` mantissa bits zero."""
    bits = x.bitcast(LAYOUTS[x.dtype].integer)
    return (bits & lit(-(1 << count), bits)).bitcast(x.dtype)


def settle_log2(x: UOp, result: UOp) -> UOp:
    """Return the logarithm with zero, negative values, infinity and NaN in their places."""
    infinity = lit(math.inf, x)
    result = choose(less(x, infinity), result, x)
    result = choose(less(x, lit(0.0, x)), lit(math.nan, x), result)
    return choose(is_equal(x, 0.0), lit(-math.inf, x), result)


def logarithm_parts(x: UOp) -> tuple[UOp, UOp, UOp]:
    """Return `(e, high, low)` with `x = 2^e * m` and `high + low` the natural logarithm of `m`;
    `high` is short enough for its product with a short number to be exact.

    Args:
        x: float32 or float64, positive and finite where the result matters.
    """
    dtype = x.dtype
    exponent, mantissa = split_exponent(choose(is_nan(x), lit(1.0, x), x))
    f = mantissa - lit(1.0, x)
    s = f / (f + lit(2.0, x))
    z = s * s
    series = z * polynomial(z, [2.0 / (2 * k + 3) for k in range(_TERMS[dtype])])
    half_square = lit(0.5, x) * f * f
    high = clear_low_bits(f - half_square, _CLEARED[dtype])
    return exponent, high, (f - high) - half_square + s * (half_square + series)


def decompose_log2(x: UOp) -> UOp:
    """LOG2(x) -> exponent plus series. log2(0) = -inf, negative: NaN, inf: inf, NaN: NaN, powers of
    two: exact.
    """
    exponent, high, low = logarithm_parts(x)
    head, tail = lit(_HEAD[x.dtype], x), lit(_TAIL[x.dtype], x)
    high_part = high * head
    low_part = (low + high) * tail + low * head
    total = exponent + high_part
    low_part = low_part + ((exponent - total) + high_part)
    return settle_log2(x, low_part + total)


rules = PatternMatcher([(UPat(Ops.LOG2, (UPat.var("x", dtype=tuple(LAYOUTS)),)), decompose_log2)])
