"""Picking values by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import broadcast_shapes, resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the slices of x at positions along an axis; negative ones count from the end.

    Args:
        x: the array.
        indices: a vector of positions.
        axis: the axis, which may be left out for a vector.

    Raises:
        ShapeError: the axis is missing, or the indices are no vector.
    """
    value, places = array_of(x, "take"), array_of(indices, "take")
    if axis is None and value.ndim != 1:
        raise ShapeError(f"take: an axis is required for shape {value.shape}")
    if places.ndim != 1:
        raise ShapeError(f"take: expected a vector of indices, found shape {places.shape}")
    where = resolve_axis("take", axis or 0, value.ndim)
    return value[(*(slice(None),) * where, places)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the values along an axis at positions given for each of its lines.

    Args:
        x: the array.
        indices: positions; as many axes as x, broadcast with it beside the axis.
        axis: the axis.

    Raises:
        ShapeError: the numbers of axes differ.
    """
    value, places = array_of(x, "take_along_axis"), array_of(indices, "take_along_axis")
    if value.ndim != places.ndim:
        raise ShapeError(
            f"take_along_axis: indices of shape {places.shape} for shape {value.shape}"
        )
    where = resolve_axis("take_along_axis", axis, value.ndim)
    beside = [
        tuple(1 if a == where else size for a, size in enumerate(entry.shape))
        for entry in (value, places)
    ]
    shape = broadcast_shapes("take_along_axis", *beside)
    aligned = []
    for entry in (value, places):
        sizes = tuple(entry.shape[a] if a == where else size for a, size in enumerate(shape))
        aligned.append(entry._broadcast_to(sizes))
    return aligned[0].gather(where, aligned[1])
