"""Shapes, and moving values without computing."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tg_core.errors import ShapeError
from tg_core.onnx.axes import place_of, places_of
from tg_core.onnx.kinds import Ints
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import check_count, size_of
from tg_core.onnx.values import Anything, Lane, Value
from tg_core.tensor import Tensor
from tg_core.uop.sizes import static_size

__all__ = ["concat", "reshape", "target_shape"]


@operator("Identity", keeps_type=True)
def identity(x: Anything) -> Anything:
    """Return x."""
    return x


@operator("Shape")
def shape(data: Value, *, start: int = 0, end: int | None = None) -> Value:
    """Return the sizes of the axes from start to end."""
    sizes = [static_size(size) for size in data.shape[start:end]]
    return Value(None, np.array(sizes, np.int64), Lane.SHAPE)


@operator("Size")
def size(data: Value) -> Value:
    """Return the number of elements."""
    count = math.prod(static_size(size) for size in data.shape)
    return Value(None, np.array(count, np.int64), Lane.SHAPE)


def target_shape(x: Tensor, sizes: tuple[int, ...], allow_zero: bool) -> tuple[int, ...]:
    """Return the shape to reshape to: 0 keeps the size, -1 takes what is left.

    Raises:
        ShapeError: a 0 has no size to keep.
    """
    if allow_zero:
        return sizes
    if any(entry == 0 and axis >= x.ndim for axis, entry in enumerate(sizes)):
        raise ShapeError(f"shape {x.shape} has no size for every 0 of {sizes}")
    return tuple(size_of(x, axis) if entry == 0 else entry for axis, entry in enumerate(sizes))


@operator("Reshape", keeps_type=True)
def reshape_by_attribute(data: Tensor, *, shape: tuple[int, ...]) -> Tensor:
    """Return the values in another shape."""
    return data.reshape(target_shape(data, shape, False))


@operator("Reshape", since=5, keeps_type=True)
def reshape(data: Tensor, shape: Ints, *, allowzero: bool = False) -> Tensor:
    """Return the values in another shape."""
    return data.reshape(target_shape(data, shape, allowzero))


@operator("Flatten", keeps_type=True)
def flatten(data: Tensor, *, axis: int = 1) -> Tensor:
    """Return a matrix: the axes before `axis` are its rows, the others its columns."""
    first = place_of(axis, data.ndim + 1) if axis >= 0 else place_of(axis, data.ndim)
    return data.reshape((math.prod(data.shape[:first]), math.prod(data.shape[first:])))


@operator("Squeeze", keeps_type=True)
def squeeze_by_attribute(data: Tensor, *, axes: tuple[int, ...] | None = None) -> Tensor:
    """Return the values without axes of size 1."""
    return _squeezed(data, axes)


@operator("Squeeze", since=13, keeps_type=True)
def squeeze(data: Tensor, axes: Ints | None = None) -> Tensor:
    """Return the values without axes of size 1."""
    return _squeezed(data, axes)


def _squeezed(data: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    if axes is None:
        return data.squeeze()
    dropped = places_of(axes, data.ndim)
    if any(data.shape[axis] != 1 for axis in dropped):
        raise ShapeError(f"shape {data.shape} has other sizes than 1 at axes {axes}")
    return data.reshape(tuple(s for axis, s in enumerate(data.shape) if axis not in dropped))


@operator("Unsqueeze", keeps_type=True)
def unsqueeze_by_attribute(data: Tensor, *, axes: tuple[int, ...]) -> Tensor:
    """Return the values with new axes of size 1 at positions of the result."""
    return unsqueeze(data, axes)


@operator("Unsqueeze", since=13, keeps_type=True)
def unsqueeze(data: Tensor, axes: Ints) -> Tensor:
    """Return the values with new axes of size 1 at positions of the result."""
    ndim = data.ndim + len(axes)
    for place in sorted(places_of(axes, ndim)):
        data = data.unsqueeze(place)
    return data


@operator("Transpose", keeps_type=True)
def transpose(data: Tensor, *, perm: tuple[int, ...] | None = None) -> Tensor:
    """Return the values with axes in another order, reversed unless given."""
    return data.permute(perm if perm is not None else tuple(range(data.ndim))[::-1])


@operator("Expand", since=8, keeps_type=True)
def expand(x: Tensor, shape: Ints) -> Tensor:
    """Return the values broadcast; a size of 1 keeps that of x."""
    ndim = max(x.ndim, len(shape))
    own = (1,) * (ndim - x.ndim) + x.shape
    wanted = (1,) * (ndim - len(shape)) + shape
    return x.reshape(own).expand(tuple(o if w == 1 else w for o, w in zip(own, wanted)))


@operator("Tile", since=1, keeps_type=True)
def tile_along(x: Tensor, tiles: Ints, axis: Ints) -> Tensor:
    """Return the values repeated along one axis."""
    repeats = [1] * x.ndim
    repeats[axis[0]] = tiles[0]
    return x.repeat(tuple(repeats))


@operator("Tile", since=6, keeps_type=True)
def tile(x: Tensor, repeats: Ints) -> Tensor:
    """Return the values repeated along every axis."""
    if len(repeats) != x.ndim:
        raise ShapeError(f"shape {x.shape} with repeats {repeats}")
    return x.repeat(repeats) if x.ndim else x


@operator("Concat", keeps_type=True)
def concat_channels(first: Tensor, *others: Tensor, axis: int = 1) -> Tensor:
    """Return the values of all one after the other along an axis, the channels unless given."""
    return concat(first, *others, axis=axis)


@operator("Concat", since=4, keeps_type=True)
def concat(first: Tensor, *others: Tensor, axis: int) -> Tensor:
    """Return the values of all one after the other along an axis."""
    return first.cat(*others, dim=axis) if others else first


@operator("DepthToSpace")
def depth_to_space(x: Tensor, *, blocksize: int, mode: Literal["DCR", "CRD"] = "DCR") -> Tensor:
    """Return channels moved into blocks of space."""
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        blocks = x.reshape((n, b, b, c // (b * b), h, w)).permute((0, 3, 4, 1, 5, 2))
    else:
        blocks = x.reshape((n, c // (b * b), b, b, h, w)).permute((0, 1, 4, 2, 5, 3))
    return blocks.reshape((n, c // (b * b), h * b, w * b))


@operator("SpaceToDepth")
def space_to_depth(x: Tensor, *, blocksize: int, mode: Literal["DCR", "CRD"] = "DCR") -> Tensor:
    """Return blocks of space moved into channels."""
    n, c, h, w = x.shape
    b = blocksize
    blocks = x.reshape((n, c, h // b, b, w // b, b))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.permute(order).reshape((n, c * b * b, h // b, w // b))


def split_sizes(total: int, parts: int, rounded_up: bool) -> list[int]:
    """Return the sizes of parts of an axis.

    Raises:
        ShapeError: equal parts were asked for and do not fit.
    """
    if parts < 1 or (total % parts and not rounded_up):
        raise ShapeError(f"an axis of {total} does not split into {parts} parts")
    check_count(parts, "splitting")
    each = -(-total // parts)
    return [max(min(each, total - each * part), 0) for part in range(parts)]


def split_parts(x: Tensor, axis: int, sizes: list[int]) -> tuple[Tensor, ...]:
    """Return consecutive parts of an axis.

    Raises:
        ShapeError: the sizes do not add up to that of the axis.
    """
    if sum(sizes) != size_of(x, axis) or min(sizes, default=0) < 0:
        raise ShapeError(f"an axis of {size_of(x, axis)} does not split into {sizes}")
    return x.split(sizes, axis)
