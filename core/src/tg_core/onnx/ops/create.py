"""Tensors made from nothing but constants and shapes."""

from __future__ import annotations

import math

import numpy as np

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.casting import element_of_code
from tg_core.onnx.kinds import Int, Ints
from tg_core.onnx.registry import operator
from tg_core.onnx.values import Lane, Value
from tg_core.tensor import Tensor

__all__ = ["constant", "constant_of_shape", "range_"]


@operator("Constant")
def constant(
    *,
    value: Value | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
) -> Value:
    """Return the attribute that is given."""
    if value is not None:
        return value
    if value_float is not None:
        return Value(None, np.array(value_float, np.float32), Lane.CONSTANT)
    if value_floats is not None:
        return Value(None, np.array(value_floats, np.float32), Lane.CONSTANT)
    if value_int is not None:
        return Value(None, np.array(value_int, np.int64), Lane.CONSTANT)
    if value_ints is not None:
        return Value(None, np.array(value_ints, np.int64), Lane.CONSTANT)
    raise ShapeError("no value is given")


@operator("ConstantOfShape", since=9)
def constant_of_shape(shape: Ints, *, value: Value | None = None) -> Value:
    """Return a tensor of equal values, 0 unless given."""
    if value is None:
        return Value(Tensor.full(shape, 0.0, dtype=dtypes.float32))
    filled = value.tensor.reshape((1,) * len(shape)).expand(shape)
    return Value(filled, element=value.element if value.element.is_narrow else None)


@operator("Range", since=11)
def range_(start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> Tensor:
    """Return the numbers from start to limit in steps of delta."""
    first, end, step = (entry.array().reshape(-1)[0].item() for entry in (start, limit, delta))
    if step == 0:
        raise ShapeError("the step must not be zero")
    count = max(math.ceil((end - first) / step), 0)
    target = start.dtype
    wide = target if dtypes.is_int(target) else dtypes.float64
    steps = Tensor.arange(count, dtype=dtypes.int64 if dtypes.is_int(target) else dtypes.int32)
    values: Tensor = steps.cast(wide) * step + first
    return values.cast(target)


@operator("EyeLike", since=9)
def eye_like(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    """Return a matrix of the shape of x with ones on a diagonal."""
    rows, columns = x.shape
    target = x.dtype if dtype is None else element_of_code(dtype).dtype
    across = Tensor.arange(columns).reshape((1, -1)) - Tensor.arange(rows).reshape((-1, 1))
    return across.eq(k).cast(target)


@operator("OneHot", since=9)
def one_hot(indices: Tensor, depth: Int, values: Tensor, *, axis: int = -1) -> Tensor:
    """Return a new axis with the second value where the index points, the first elsewhere."""
    index = indices.cast(dtypes.int64)
    index = (index < 0).where(index + depth, index)
    hot = index.unsqueeze(-1).eq(Tensor.arange(depth, dtype=dtypes.int64))
    chosen = hot.where(values[1], values[0])
    place = place_of(axis, chosen.ndim)
    order = list(range(chosen.ndim - 1))
    order.insert(place, chosen.ndim - 1)
    return chosen.permute(tuple(order))


@operator("Trilu", since=14)
def trilu(x: Tensor, k: Int | None = None, *, upper: bool = True) -> Tensor:
    """Return matrices with zeros below, or above, a diagonal."""
    return x.triu(k or 0) if upper else x.tril(k or 0)
