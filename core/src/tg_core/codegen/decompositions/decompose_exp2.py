"""EXP2 of float32 and float64 from arithmetic: below 1 ulp for float32, about 1 ulp for float64,
over the whole range.

`2^x = 2^n * 2^f` with `n` the nearest integer and `|f| <= 1/2`. The power of two is applied in two
factors, so that subnormal results are rounded once and overflow gives infinity.
"""

from __future__ import annotations

from typing import Final

from tg_core.codegen.decompositions.utils import (
    LAYOUTS,
    choose,
    less,
    lit,
    multiply_add,
    polynomial,
    power_of_two,
    shift_right,
)
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

# (2^f - 1) / f on [-1/2, 1/2], least maximal error relative to 2^f (Lawson's algorithm, extended
# precision): 2^-28.3 and 2^-57.9. Those of float32 are what it holds, the first the nearest to
# log(2), each fitted after the ones before it were rounded
_COEFFICIENTS: Final = {
    dtypes.float32: (
        0.6931471824645996,
        0.24022647738456726,
        0.05550359934568405,
        0.009618505835533142,
        0.001339081209152937,
        0.00015326496213674545,
    ),
    dtypes.float64: (
        0.6931471805599453,
        0.24022650695910133,
        0.05550410866482,
        0.009618129107593283,
        0.0013333558146812387,
        0.00015403530458123438,
        1.5252733458950743e-05,
        1.3215434802357737e-06,
        1.0178212913699582e-07,
        7.073861685702987e-09,
        4.432884501851712e-10,
    ),
}
_LOWEST: Final = {dtypes.float32: -152.0, dtypes.float64: -1077.0}
_HIGHEST: Final = {dtypes.float32: 129.0, dtypes.float64: 1025.0}


def exp2_of_sum(x: UOp, correction: UOp | None = None) -> UOp:
    """Return `2^(x + correction)`; the correction is small and may be absent.

    Args:
        x: float32 or float64.
        correction: same dtype, at most one ulp of `x` or so.
    """
    dtype, layout = x.dtype, LAYOUTS[x.dtype]
    low, high = lit(_LOWEST[dtype], x), lit(_HIGHEST[dtype], x)
    # NaN passes both comparisons, and makes the product at the end NaN whatever its bits say
    # meanwhile
    clamped = choose(less(x, low), low, choose(less(high, x), high, x))
    # adding 1.5 * 2^(mantissa bits) rounds to an integer, which then stands in the last bits of the
    # sum
    shifter = lit(1.5 * 2.0**layout.mantissa_bits, x)
    shifted = clamped + shifter
    fraction = clamped - (shifted - shifter)
    if correction is not None:
        inside = UOp(Ops.CMPEQ, (x, clamped))
        fraction = fraction + choose(inside, correction, lit(0.0, x))
    mantissa = multiply_add(fraction, polynomial(fraction, _COEFFICIENTS[dtype]), lit(1.0, x))
    exponent = shifted.bitcast(layout.integer) - shifter.bitcast(layout.integer)
    first = shift_right(exponent, 1)
    return mantissa * power_of_two(first, dtype) * power_of_two(exponent - first, dtype)


def decompose_exp2(x: UOp) -> UOp:
    """EXP2(x) -> range reduction, polynomial, scaling. Exact for integers; NaN stays NaN; over- and
    underflow as in IEEE 754.
    """
    return exp2_of_sum(x)


rules = PatternMatcher([(UPat(Ops.EXP2, (UPat.var("x", dtype=tuple(LAYOUTS)),)), decompose_exp2)])
