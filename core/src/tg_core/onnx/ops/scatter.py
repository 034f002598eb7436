"""Writing at positions that a tensor names; negative ones count from the end."""

from __future__ import annotations

import math
from typing import Literal

from tg_core.dtype import dtypes
from tg_core.onnx.axes import place_of
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of, sizes_of
from tg_core.tensor import Tensor

__all__ = ["scatter_elements", "scatter_nd", "tensor_scatter"]

_NAMES: dict[str, Literal["sum", "prod", "amax", "amin"]] = {
    "add": "sum",
    "mul": "prod",
    "max": "amax",
    "min": "amin",
}


def _scattered(data: Tensor, axis: int, index: Tensor, updates: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return data.scatter(axis, index, updates)
    return data.scatter_reduce(axis, index, updates, _NAMES[reduction])


@operator("Scatter", since=9)
def scatter(data: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0) -> Tensor:
    """Return data with updates written along an axis."""
    return _scattered(data, axis, indices, updates, "none")


@operator("ScatterElements", since=11)
def scatter_elements(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    axis: int = 0,
    reduction: Literal["none", "add", "mul", "max", "min"] = "none",
) -> Tensor:
    """Return data with updates written along an axis, each at its own place along the others."""
    return _scattered(data, axis, indices, updates, reduction)


@operator("ScatterND", since=11)
def scatter_nd(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    reduction: Literal["none", "add", "mul", "max", "min"] = "none",
) -> Tensor:
    """Return data with slices written where tuples of indices, the last axis, say."""
    depth = size_of(indices, -1)
    lead, rest = sizes_of(data)[:depth], sizes_of(data)[depth:]
    count = math.prod(sizes_of(indices)[:-1])
    tuples = indices.reshape((count, depth)).cast(dtypes.int64)
    flat = Tensor.zeros(count, dtype=dtypes.int64)
    for position, size in enumerate(lead):
        index = tuples[:, position]
        flat = flat * size + (index < 0).where(index + size, index)
    width = math.prod(rest)
    rows = data.reshape((math.prod(lead), width))
    places = flat.reshape((count, 1)).expand((count, width))
    written = _scattered(rows, 0, places, updates.reshape((count, width)), reduction)
    return written.reshape(data.shape)


@operator("TensorScatter", since=24)
def tensor_scatter(
    past: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    *,
    axis: int = -2,
    mode: Literal["linear", "circular"] = "linear",
) -> Tensor:
    """Return a cache with new entries from a position of each batch entry on."""
    place = place_of(axis, past.ndim)
    length, steps = size_of(past, place), size_of(update, place)
    shape = [1] * past.ndim
    shape[place] = steps
    index = Tensor.arange(steps, dtype=dtypes.int64).reshape(tuple(shape))
    if write_indices is not None:
        index = index + write_indices.reshape((-1, *(1,) * (past.ndim - 1))).cast(dtypes.int64)
    if mode == "circular":
        index = index % length
    return past.scatter(place, index.expand(update.shape), update)
