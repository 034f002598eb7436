"""Where a float value lies, as far as the expression around it shows.

A conversion to integer whose operand is known to fit needs no care about the rest. Transcendental
functions clamp before they convert, `WHERE(x < c, c, x)`, so a look at a few comparisons tells.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp

DEPTH = 12
"""How far to look; beyond, nothing is known."""

STEPS = 200
"""How many nodes to look at."""


class FloatRange(NamedTuple):
    """Closed bounds of a value, and whether it can be NaN (which lies within no bounds)."""

    low: float
    high: float
    can_be_nan: bool

    def within(self, low: float, high: float) -> bool:
        """Tell whether the value is a number in `[low, high]`."""
        return not self.can_be_nan and low <= self.low and self.high <= high


UNKNOWN = FloatRange(-math.inf, math.inf, True)


def float_range(uop: UOp) -> FloatRange:
    """Return the range of a float value in every lane; never wrong, possibly loose.

    Args:
        uop: a node with a float dtype.
    """
    return _Search().range_of(uop, {}, DEPTH)


class _Search:
    """One look at an expression, of bounded size."""

    def __init__(self) -> None:
        self.steps = 0

    def range_of(self, uop: UOp, known: dict[UOp, FloatRange], depth: int) -> FloatRange:
        """Return the range of a node where the comparisons that led to `known` came out as said.

        The recursion is bounded by `depth`.
        """
        self.steps += 1
        given = known.get(uop, UNKNOWN)
        if depth == 0 or self.steps > STEPS:
            return given
        return _meet(given, self._derive(uop, known, depth - 1))

    def _derive(self, uop: UOp, known: dict[UOp, FloatRange], depth: int) -> FloatRange:
        constant = uop.const_value
        if isinstance(constant, float):
            return UNKNOWN if math.isnan(constant) else FloatRange(constant, constant, False)
        if uop.op is Ops.STACK and all(s is uop.src[0] for s in uop.src):
            return self.range_of(uop.src[0], known, depth)
        if uop.op is Ops.WHERE:
            condition, yes, no = uop.src
            taken = self.range_of(yes, _refined(known, condition, True), depth)
            other = self.range_of(no, _refined(known, condition, False), depth)
            return _join(taken, other)
        if uop.op is Ops.TRUNC:
            inner = self.range_of(uop.src[0], known, depth)
            return FloatRange(_trunc(inner.low), _trunc(inner.high), inner.can_be_nan)
        if uop.op in (Ops.ADD, Ops.SUB):
            a, b = (self.range_of(s, known, depth) for s in uop.src)
            return _sum(a, b) if uop.op is Ops.ADD else _sum(a, FloatRange(-b.high, -b.low, b[2]))
        if uop.op is Ops.CAST and dtypes.is_float(uop.src[0].dtype):
            if uop.dtype.bits >= uop.src[0].dtype.bits:
                return self.range_of(uop.src[0], known, depth)
        return UNKNOWN


def _trunc(bound: float) -> float:
    return float(math.trunc(bound)) if math.isfinite(bound) else bound


def _meet(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(max(a.low, b.low), min(a.high, b.high), a.can_be_nan and b.can_be_nan)


def _join(a: FloatRange, b: FloatRange) -> FloatRange:
    return FloatRange(min(a.low, b.low), max(a.high, b.high), a.can_be_nan or b.can_be_nan)


def _sum(a: FloatRange, b: FloatRange) -> FloatRange:
    """Add ranges; bounds are widened by more than a rounding of float16 adds."""
    low, high = a.low + b.low, a.high + b.high
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    slack = max(abs(low), abs(high)) * 2.0**-7
    return FloatRange(low - slack, high + slack, a.can_be_nan or b.can_be_nan)


def _same_lanes(uop: UOp) -> float | None:
    """Return the constant a node is in every lane."""
    if uop.op is Ops.STACK and uop.src and all(s is uop.src[0] for s in uop.src):
        uop = uop.src[0]
    value = uop.const_value
    return value if isinstance(value, float) and not math.isnan(value) else None


def _refined(known: dict[UOp, FloatRange], condition: UOp, outcome: bool) -> dict[UOp, FloatRange]:
    """Return what is known when a comparison comes out as `outcome`."""
    if condition.op is Ops.CMPNE and condition.src[0] is condition.src[1] and not outcome:
        return _with(known, condition.src[0], FloatRange(-math.inf, math.inf, False))
    if condition.op is not Ops.CMPLT:
        return known
    a, b = condition.src
    if (bound := _same_lanes(b)) is not None:
        # a < bound is false for a NaN
        fact = FloatRange(-math.inf, bound, False) if outcome else FloatRange(bound, math.inf, True)
        return _with(known, a, fact)
    if (bound := _same_lanes(a)) is not None:
        fact = FloatRange(bound, math.inf, False) if outcome else FloatRange(-math.inf, bound, True)
        return _with(known, b, fact)
    return known


def _with(known: dict[UOp, FloatRange], uop: UOp, fact: FloatRange) -> dict[UOp, FloatRange]:
    return {**known, uop: _meet(known.get(uop, UNKNOWN), fact)}
