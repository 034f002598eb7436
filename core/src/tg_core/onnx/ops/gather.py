"""Reading at positions that a tensor names; negative ones count from the end."""

from __future__ import annotations

import numpy as np

from tg_core.dtype import dtypes
from tg_core.onnx.axes import place_of
from tg_core.onnx.ops.slicing import take
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["compress", "gather", "gather_elements", "gather_nd"]


@operator("Gather", keeps_type=True)
def gather(data: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Return the slices along an axis that the indices name."""
    place = place_of(axis, data.ndim)
    return data[(slice(None),) * place + (indices,)]


@operator("GatherElements", since=11, keeps_type=True)
def gather_elements(data: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Return for each index the value along the axis, at its own place along the others."""
    return data.gather(axis, indices)


@operator("GatherND", since=11, keeps_type=True)
def gather_nd(data: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """Return the slices that tuples of indices name, the last axis of `indices`."""
    depth = size_of(indices, -1)
    lead = indices.ndim - 1
    index = []
    for axis in range(batch_dims):
        shape = [1] * lead
        shape[axis] = size_of(data, axis)
        index.append(Tensor.arange(data.shape[axis]).reshape(tuple(shape)))
    index += [indices[..., position] for position in range(depth)]
    return data[tuple(index)]


@operator("Compress", since=9)
def compress(x: Tensor, condition: Value, *, axis: int | None = None) -> Tensor:
    """Return the slices for which the condition holds."""
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    place = place_of(axis, x.ndim)
    return take(x, place, np.flatnonzero(condition.array().reshape(-1)[: size_of(x, place)]))


@operator("NonZero", since=9)
def non_zero(x: Value) -> Tensor:
    """Return the positions of the values that are not zero, one row for each axis.

    A scalar has no axes, so no rows, but as many columns as values that are not zero.
    """
    array = x.array()
    places = np.nonzero(np.atleast_1d(array))
    return Tensor(np.array(places[: array.ndim], np.int64).reshape(array.ndim, len(places[0])))


@operator("Unique", since=11)
def unique(
    x: Value,
    *,
    axis: int | None = None,
    sorted: bool = True,  # noqa: A002
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return distinct values (or slices), where they come first, which is where, how often."""
    array = x.array()
    _, first, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        rank = np.argsort(order)
        first, inverse, counts = first[order], rank[inverse], counts[order]
    data = x.tensor.reshape((-1,)) if axis is None else x.tensor
    place = 0 if axis is None else place_of(axis, data.ndim)
    picked = take(data, place, first)
    where, which, often = (Tensor(each.astype(np.int64)) for each in (first, inverse, counts))
    return picked, where, which, often


@operator("ReverseSequence", since=10)
def reverse_sequence(
    x: Tensor, sequence_lens: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """Return x with the first steps of each batch entry reversed, as many as its length."""
    steps = x.shape[time_axis]
    time = _along(Tensor.arange(steps), x.ndim, time_axis)
    length = _along(sequence_lens.cast(dtypes.int32), x.ndim, batch_axis)
    index = (time < length).where(length - 1 - time, time)
    shape = list(x.shape)
    return x.gather(time_axis, index.expand(tuple(shape)))


def _along(vector: Tensor, ndim: int, axis: int) -> Tensor:
    shape = [1] * ndim
    shape[axis] = size_of(vector, 0)
    return vector.reshape(tuple(shape))


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(x: Tensor, y: Tensor) -> Tensor:
    """Return columns."""
    columns = y.reshape((-1,))
    picked = x[..., columns]
    return picked.reshape((1, -1)) if x.ndim == 1 else picked


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    """Return 1 where values exceed the threshold, 0 elsewhere."""
    return (x > threshold).cast(x.dtype)
