"""FDIV of SIN by the SIN of a sum with pi/2, which is how the front end writes a tangent: within
about 1 ulp, for every argument.

Both are left unrounded, as sums of two, and so is their quotient until the end; the reduction of
the argument is shared.
"""

from __future__ import annotations

from functools import cache

from tg_core.codegen.decompositions.decompose_cos import is_quarter_turn
from tg_core.codegen.decompositions.decompose_sin import (
    is_odd,
    reduced,
    settle_odd,
    sine_and_cosine,
)
from tg_core.codegen.decompositions.error_free import Pair, pair_quotient, quick_sum
from tg_core.codegen.decompositions.utils import LAYOUTS, choose, lit, magnitude
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat


def tangent(x: UOp, wide: bool, fused: bool) -> UOp:
    """Return the tangent. tan(-x) = -tan(x), tan(-0.0) = -0.0, infinities and NaN give NaN.

    Args:
        x: float32 or float64.
        wide: the target has float64.
        fused: the target has a MULACC that rounds once.
    """
    size = magnitude(x)
    quadrant, remainder = reduced(x, size, wide)
    sine, cosine = (quick_sum(*parts) for parts in sine_and_cosine(remainder))
    odd = is_odd(quadrant)
    # a quarter turn makes it -cosine / sine
    divided = _choose_pair(odd, _negated(cosine), sine)
    value = pair_quotient(divided, _choose_pair(odd, sine, cosine), fused)
    return settle_odd(x, size, value)


def _negated(value: Pair) -> Pair:
    zero = lit(0.0, value[0])
    return zero - value[0], zero - value[1]


def _choose_pair(condition: UOp, yes: Pair, no: Pair) -> Pair:
    return choose(condition, yes[0], no[0]), choose(condition, yes[1], no[1])


@cache
def tangent_rules(wide: bool, fused: bool) -> PatternMatcher:
    """Return the rule for targets with or without float64 and with or without a MULACC that rounds
    once.
    """

    def decompose_tan(x: UOp, shift: UOp) -> UOp | None:
        """`SIN(x) / SIN(x + pi/2) -> tan(x)`."""
        return tangent(x, wide, fused) if is_quarter_turn(shift, x) else None

    x = UPat.var("x", dtype=tuple(LAYOUTS) if wide else dtypes.float32)
    cosine = UPat(Ops.SIN, (x + UPat.cvar("shift"),))
    return PatternMatcher([(UPat(Ops.FDIV, (UPat(Ops.SIN, (x,)), cosine)), decompose_tan)])
