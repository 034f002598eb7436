"""Logical reductions and differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.manipulation import concat
from tg_core.array_api.operands import array_of, fresh
from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Axes = int | tuple[int, ...] | None


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return whether every value is true; True along an empty axis."""
    return array_of(x, "all").all(axis, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return whether some value is true; False along an empty axis."""
    return array_of(x, "any").any(axis, keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the differences of neighbours along an axis.

    Args:
        x: the array.
        axis: the axis.
        n: how often; 0 leaves x as it is.
        prepend: values put in front along the axis first.
        append: values put behind.

    Raises:
        ShapeError: `n` is negative.
    """
    value = array_of(x, "diff")
    where = resolve_axis("diff", axis, value.ndim)
    if n < 0:
        raise ShapeError(f"diff: n must not be negative, found {n}")
    if n == 0:
        return fresh(value, value)
    parts = [entry for entry in (prepend, value, append) if entry is not None]
    result = concat(parts, axis=where) if len(parts) > 1 else value
    for _ in range(n):
        size = result._int_shape()[where]
        keep: list[tuple[int, int] | None] = [None] * result.ndim
        keep[where] = (min(1, size), size)
        after = result.shrink(keep)
        keep[where] = (0, max(size - 1, 0))
        before = result.shrink(keep)
        result = after.ne(before) if result.dtype is dtypes.bool else after - before
    return result
