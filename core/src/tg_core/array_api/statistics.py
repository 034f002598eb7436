"""Sums, means, extrema and running sums along axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of, floats_of, sum_dtype_of
from tg_core.dtype import DType
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Axes = int | tuple[int, ...] | None


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the running product along an axis.

    Args:
        x: the array.
        axis: the axis, which may be left out for a vector.
        dtype: the dtype to compute in; narrow integers widen to the default int unless given.
        include_initial: put the empty product 1 in front.
    """
    return _running(x, axis, dtype, include_initial, "cumulative_prod")


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the running sum along an axis.

    Args:
        x: the array.
        axis: the axis, which may be left out for a vector.
        dtype: the dtype to compute in; narrow integers widen to the default int unless given.
        include_initial: put the empty sum 0 in front.
    """
    return _running(x, axis, dtype, include_initial, "cumulative_sum")


def _running(
    x: Tensor, axis: int | None, dtype: DType | None, include_initial: bool, name: str
) -> Tensor:
    value = array_of(x, name)
    if axis is None and value.ndim > 1:
        raise ShapeError(f"{name}: an axis is required for shape {value.shape}")
    if not value.ndim:
        value = value.reshape((1,))
    where = resolve_axis(name, axis or 0, value.ndim)
    target = dtype or sum_dtype_of(value.dtype)
    wide = value.cast(target)
    running = wide.cumsum(where) if name == "cumulative_sum" else wide.cumprod(where)
    result = running.cast(target)
    if not include_initial:
        return result
    grow = [(1 if a == where else 0, 0) for a in range(value.ndim)]
    return result.pad(grow, value=0 if name == "cumulative_sum" else 1)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the greatest value, NaN where there is one.

    Raises:
        ShapeError: a reduced axis is empty.
    """
    return array_of(x, "max").max(axis, keepdims)


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the mean; integers give the default float."""
    return array_of(x, "mean").mean(axis, keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the smallest value, NaN where there is one.

    Raises:
        ShapeError: a reduced axis is empty.
    """
    return array_of(x, "min").min(axis, keepdims)


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product; narrow integers widen to the default int unless a dtype is given."""
    value = array_of(x, "prod")
    target = dtype or sum_dtype_of(value.dtype)
    return value.cast(target).prod(axis, keepdims).cast(target)


def std(
    x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the standard deviation, the root of `var`."""
    value = floats_of(x, "std")
    return value._wide().var(axis, keepdims, correction).sqrt().cast(value.dtype)  # type: ignore[arg-type]  # takes floats


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum; narrow integers widen to the default int unless a dtype is given."""
    value = array_of(x, "sum")
    target = dtype or sum_dtype_of(value.dtype)
    return value.cast(target).sum(axis, keepdims).cast(target)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the variance: the mean square deviation, with `correction` off the count."""
    return floats_of(x, "var").var(axis, keepdims, correction)  # type: ignore[arg-type]  # takes floats
