"""EXP2 of a product with log2(e), which is how the front end writes an exponential: within 1 ulp.

The rounding of the product would cost up to 60 ulp at the ends of the range; what it lost is
computed by a fused multiply-add and goes into the fraction of the power of two.
"""

from __future__ import annotations

import math
from typing import Final

from tg_core.codegen.decompositions.decompose_exp2 import exp2_of_sum
from tg_core.codegen.decompositions.utils import LAYOUTS, lit, multiply_add
from tg_core.dtype import truncate
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

LOG2_E: Final = math.log2(math.e)
# log2(e) less its nearest double, from 40 digits of it
_REST_OF_DOUBLE: Final = 2.0355273740931033e-17


def decompose_exp(x: UOp, factor: UOp) -> UOp | None:
    """`EXP2(x * f) -> 2^(x * f + e)` for f the rounded log2(e) or its negative, e what was lost.

    Sound where the product is not f's rounding alone: infinities and NaN take no correction,
    because `exp2_of_sum` drops it for a clamped argument.
    """
    value = factor.const_value
    if not isinstance(value, float) or abs(value) != truncate(LOG2_E, x.dtype):
        return None
    rest = math.copysign((LOG2_E - abs(value)) + _REST_OF_DOUBLE, value)
    product = x * factor
    lost = multiply_add(x, factor, lit(0.0, x) - product)
    return exp2_of_sum(product, multiply_add(x, lit(rest, x), lost))


_X = UPat.var("x", dtype=tuple(LAYOUTS))
rules = PatternMatcher([(UPat(Ops.EXP2, (_X * UPat.cvar("factor"),)), decompose_exp)])
