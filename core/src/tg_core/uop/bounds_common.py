"""What the interval rules share: the interval type, the range of a dtype, wrapping and rounding.

Conventions

* Integers: a Python int pair. A result that may leave the range of a concrete width wraps, so
  nothing is known but the whole range of the dtype.
* weakint: exact mathematics. Beyond `WEAK_LIMIT` an interval is reported as the whole weakint
  range, so that a long chain of products cannot build numbers of a million digits.
* Floats: `(-inf, inf)` means that the value is unknown and may be NaN; every narrower interval
  promises that it is not. Zeros of both signs compare equal, so a float interval of one point does
  not name a constant.
* bool: a pair of Python bools.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from tg_core.dtype import DType, dtypes, truncate

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

Bound: TypeAlias = int | float | bool
Bounds: TypeAlias = tuple[Bound, Bound]

WEAK_LIMIT = 1 << 127
"""Magnitude from which on a weakint interval is reported as unknown: twice the widest index."""

UNKNOWN_FLOAT: Bounds = (-math.inf, math.inf)
UNKNOWN_BOOL: Bounds = (False, True)
TRUE: Bounds = (True, True)
FALSE: Bounds = (False, False)
_ranges: dict[DType, Bounds] = {}
_floats: dict[DType, bool] = {}


def dtype_bounds(dtype: DType) -> Bounds:
    """Give the interval of everything a dtype can hold.

    Args:
        dtype: any dtype; void counts as a float without information.

    Returns:
        The smallest and the largest value; (-inf, inf) for floats, +-2^127 for weakint.
    """
    found = _ranges.get(dtype)
    if found is None:
        if dtype is dtypes.bool:
            found = UNKNOWN_BOOL
        elif dtype is dtypes.weakint:
            found = (-WEAK_LIMIT, WEAK_LIMIT)
        elif dtypes.is_int(dtype):
            found = (int(dtypes.min(dtype)), int(dtypes.max(dtype)))
        else:
            found = UNKNOWN_FLOAT
        _ranges[dtype] = found
        _floats[dtype] = dtypes.is_float(dtype)
    return found


def is_float_dtype(dtype: DType) -> bool:
    """Whether the dtype is a float; a table look-up, because bounds are on the hot path."""
    if dtype not in _floats:
        dtype_bounds(dtype)
    return _floats[dtype]


def fit(low: Bound, high: Bound, dtype: DType) -> Bounds:
    """Keep an exact integer interval if the dtype holds all of it; otherwise the value may wrap."""
    whole = _ranges.get(dtype) or dtype_bounds(dtype)
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def round_float(low: Bound, high: Bound, dtype: DType) -> Bounds:
    """Round the ends on the grid of a float dtype; rounding is monotone, so they stay the ends."""
    if math.isnan(low) or math.isnan(high):
        return UNKNOWN_FLOAT
    return float(truncate(low, dtype)), float(truncate(high, dtype))


def all_finite(*nodes: UOp) -> bool:
    """Whether every bound of the nodes is finite, so that none of them can be NaN."""
    return all(math.isfinite(node.vmin) and math.isfinite(node.vmax) for node in nodes)
