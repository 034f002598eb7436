"""Joining, splitting, repeating and moving axes and values."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.array_api.creation import common_dtype, sizes_of
from tg_core.array_api.indexing import take
from tg_core.array_api.operands import SCALARS, array_of
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import broadcast_shapes, resolve_axes, resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Return the arrays broadcast to one shape."""
    values = [array_of(entry, "broadcast_arrays") for entry in arrays]
    shape = broadcast_shapes("broadcast_arrays", *(value.shape for value in values))
    return tuple(value._broadcast_to(shape) for value in values)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return x broadcast to a shape.

    Raises:
        ShapeError: it does not broadcast.
    """
    value = array_of(x, "broadcast_to")
    target = sizes_of(shape)
    if broadcast_shapes("broadcast_to", value.shape, target) != target:
        raise ShapeError(f"broadcast_to: shape {value.shape} does not broadcast to {target}")
    return value._broadcast_to(target)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return the arrays one after the other.

    Args:
        arrays: of one shape beside the axis; they promote to a common dtype.
        axis: the axis they are joined along; None flattens them first.
    """
    values, _ = common_dtype(arrays, "concat")
    if axis is None:
        values, axis = [value.flatten() for value in values], 0
    return values[0].cat(*values[1:], dim=axis)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """Return x with a new axis of size 1."""
    return array_of(x, "expand_dims").unsqueeze(axis)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Return x with the order of the values along the axes (all unless given) turned around."""
    value = array_of(x, "flip")
    axes = resolve_axes("flip", axis, value.ndim)
    return value.flip(axes) if axes else value


def moveaxis(
    x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Tensor:
    """Return x with axes moved to new places; the others keep their order.

    Raises:
        ShapeError: the numbers of axes differ, or one is named twice.
    """
    value = array_of(x, "moveaxis")
    taken, wanted = (_unique_axes(entry, value.ndim) for entry in (source, destination))
    if len(taken) != len(wanted):
        raise ShapeError(f"moveaxis: {len(taken)} axes for {len(wanted)} places")
    order = [axis for axis in range(value.ndim) if axis not in taken]
    for place, axis in sorted(zip(wanted, taken, strict=True)):
        order.insert(place, axis)
    return value.permute(tuple(order))


def _unique_axes(axes: int | tuple[int, ...], ndim: int) -> list[int]:
    listed = list(axes) if isinstance(axes, (tuple, list)) else [axes]
    found = [resolve_axis("moveaxis", axis, ndim) for axis in listed]
    if len(set(found)) != len(found):
        raise ShapeError(f"moveaxis: an axis is named twice in {axes}")
    return found


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return x with its axes in a new order."""
    value = array_of(x, "permute_dims")
    return value.permute(tuple(axes)) if value.ndim else value


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return x with every value repeated in place.

    Args:
        x: the array.
        repeats: how often, for all values or for each along the axis; an array is computed, as
            the shape of the result depends on it.
        axis: the axis; None flattens x first.
    """
    value = array_of(x, "repeat")
    if axis is None:
        value, axis = value.flatten(), 0
    if not hasattr(repeats, "shape") or isinstance(repeats, SCALARS):
        return value.repeat_interleave(operator.index(repeats), axis)
    counts = array_of(repeats, "repeat")
    if counts.numel() == 1:
        return value.repeat_interleave(int(counts.item()), axis)
    where = resolve_axis("repeat", axis, value.ndim)
    if counts.shape != (value.shape[where],):
        raise ShapeError(f"repeat: {counts.shape} counts for axis {where} of shape {value.shape}")
    from tg_core.tensor import Tensor

    places = [place for place, count in enumerate(counts.tolist()) for _ in range(count)]
    return take(value, Tensor(places, dtype="int32", device=counts.uop.device), axis=where)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the values in row-major order with another shape.

    Args:
        x: the array.
        shape: the sizes, one of which may be -1.
        copy: True for memory of its own. A reshape is a view or a lazy value otherwise, so
            there is nothing that False could refuse.
    """
    value = array_of(x, "reshape").reshape(sizes_of(shape))
    return value.clone() if copy else value


def roll(
    x: Tensor,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> Tensor:
    """Return x with the values moved along axes and around the end; flattened when None."""
    value = array_of(x, "roll")
    if isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        shift = (shift,) * len(axis)
    return value.roll(shift, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Return x without axes of size 1.

    Raises:
        ShapeError: an axis has another size.
    """
    value = array_of(x, "squeeze")
    axes = resolve_axes("squeeze", axis, value.ndim)
    if [axis for axis in axes if value.shape[axis] != 1]:
        raise ShapeError(f"squeeze: axes {axes} of shape {value.shape} have not all size 1")
    return value.squeeze(axes) if axes else value


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return arrays of one shape along a new axis; they promote to a common dtype."""
    values, _ = common_dtype(arrays, "stack")
    return values[0].stack(*values[1:], dim=axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return x repeated as a whole along every axis; missing counts are ones in front."""
    value = array_of(x, "tile")
    counts = (1,) * (value.ndim - len(repetitions)) + sizes_of(repetitions)
    return value.repeat(counts) if counts else value


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along an axis, without it."""
    value = array_of(x, "unstack")
    where = resolve_axis("unstack", axis, value.ndim)
    front = value.permute((where, *(a for a in range(value.ndim) if a != where)))
    return tuple(front)
