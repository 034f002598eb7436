"""Values of the interpreter: numpy arrays over work items, one representation per dtype.

The first axis runs over the work items of a block, or has size 1 where all of them have the same
value; a vector has its lanes on a second axis. bfloat16 and the 8-bit floats, which numpy lacks,
are float32 arrays of values that the format can hold, and codes in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tg_core.dtype import dtypes, to_numpy
from tg_core.support.floats import (
    NARROW_FLOATS,
    decode,
    integer_to_float,
    round_narrow,
    to_codes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tg_core.dtype import DType

Array: TypeAlias = "NDArray[Any]"


def value_type(dtype: DType) -> np.dtype[Any]:
    """Return numpy's dtype of values."""
    found = to_numpy(dtype)
    return np.dtype(np.float32) if found is None else found


def memory_type(dtype: DType) -> np.dtype[Any]:
    """Return numpy's dtype of memory."""
    if dtype is dtypes.bool:
        return np.dtype(np.uint8)
    found = to_numpy(dtype)
    if found is None:
        return np.dtype(np.uint16 if dtype.bits == 16 else np.uint8)
    return found


def is_narrow(dtype: DType) -> bool:
    """Tell whether a dtype is one that numpy lacks."""
    return dtype.name in NARROW_FLOATS


def to_memory(values: Array, dtype: DType) -> Array:
    """Return values as memory holds them."""
    if is_narrow(dtype):
        return to_codes(np.ascontiguousarray(values), dtype.name)
    return values.astype(memory_type(dtype), copy=False)


def from_memory(cells: Array, dtype: DType) -> Array:
    """Return what memory holds as values."""
    if is_narrow(dtype):
        return decode(cells, dtype.name)
    return cells != 0 if dtype is dtypes.bool else cells


def rounded(values: Array, dtype: DType) -> Array:
    """Return the result of a float computation rounded to `dtype`, once."""
    if is_narrow(dtype):
        return round_narrow(values, dtype.name)
    return values.astype(value_type(dtype), copy=False)


def _float_to_integer(values: Array, target: DType) -> Array:
    """Truncate; NaN and what does not fit 64 bits become `-2**63`, then the width wraps."""
    wide = np.trunc(values.astype(np.float64))
    fits = np.abs(wide) < 2.0**63
    result = np.where(fits, wide, -(2.0**63)).astype(np.int64)
    if target is dtypes.uint64:
        upper = (wide >= 2.0**63) & (wide < 2.0**64)
        high = np.where(upper, wide, 0.0).astype(np.uint64)
        return np.where(upper, high, result.view(np.uint64))
    return result.astype(value_type(target))


def cast(values: Array, source: DType, target: DType) -> Array:
    """Convert values; floats to integers wrap as the policy of the project says."""
    if target is dtypes.bool:
        return np.not_equal(values, 0)
    if dtypes.is_float(source):
        if target in dtypes.ints:
            return _float_to_integer(values, target)
        return rounded(values, target)
    if is_narrow(target):
        if source is dtypes.bool:
            return rounded(values.astype(np.float32), target)
        return rounded(integer_to_float(values), target)
    if target is dtypes.float16:
        return values.astype(np.float64).astype(np.float16)
    return values.astype(value_type(target))


def bitcast(values: Array, source: DType, target: DType) -> Array:
    """Read the bytes of values as another dtype; the lanes scale when the sizes differ."""
    cells = np.ascontiguousarray(to_memory(values, source))
    if source.itemsize == target.itemsize:
        return from_memory(cells.view(memory_type(target)), target)
    wide = cells if cells.ndim > 1 else cells[:, None]
    return from_memory(wide.view(memory_type(target)), target)
