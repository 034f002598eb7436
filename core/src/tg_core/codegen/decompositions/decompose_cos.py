"""SIN of a sum with pi/2, which is how the front end writes a cosine: as exact as SIN.

Adding pi/2 would round away the digits that decide near the zeros of the cosine; the quadrant is
moved by one instead.
"""

from __future__ import annotations

import math

from tg_core.codegen.decompositions.decompose_sin import reduced, sine_in_quadrant
from tg_core.codegen.decompositions.utils import LAYOUTS, choose, less, lit, magnitude
from tg_core.dtype import dtypes, truncate
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat


def decompose_cos(x: UOp, shift: UOp) -> UOp | None:
    """`SIN(x + pi/2) -> cos(x)`. Infinities and NaN give NaN."""
    return _cosine(x, shift, wide=False)


def decompose_cos_in_double(x: UOp, shift: UOp) -> UOp | None:
    """`SIN(x + pi/2) -> cos(x)` of float32, with the remainder scaled in float64."""
    return _cosine(x, shift, wide=True)


def _cosine(x: UOp, shift: UOp, wide: bool) -> UOp | None:
    if not is_quarter_turn(shift, x):
        return None
    size = magnitude(x)
    quadrant, remainder = reduced(x, size, wide)
    value = sine_in_quadrant(quadrant + lit(1, quadrant), remainder)
    return choose(less(size, lit(math.inf, x)), value, lit(math.nan, x))


def is_quarter_turn(shift: UOp, x: UOp) -> bool:
    """Tell whether a constant is pi/2 as the dtype of `x` rounds it."""
    return shift.const_value == truncate(math.pi / 2, x.dtype)


_ANY = UPat.var("x", dtype=tuple(LAYOUTS)) + UPat.cvar("shift")
_SINGLE = UPat.var("x", dtype=dtypes.float32) + UPat.cvar("shift")

rules = PatternMatcher([(UPat(Ops.SIN, (_ANY,)), decompose_cos)])
"""For targets without float64."""

rules_with_double = PatternMatcher([(UPat(Ops.SIN, (_SINGLE,)), decompose_cos_in_double)]) + rules
