"""Arrays made from data, from constants and by counting."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.array_api.data_types import result_type
from tg_core.array_api.operands import SCALARS, array_of, fresh, plain, refuse_complex
from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float
Shape = int | Sequence[int]


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape that may be a single size as a tuple."""
    listed = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(operator.index(size) for size in listed)


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """Return an object as an array.

    Args:
        obj: an array, a Python scalar, nested sequences of those, an object with the buffer
            protocol or with `__dlpack__`.
        dtype: the data type; that of the object, or the default of its kind, unless given.
        device: where the array is.
        copy: True for memory of its own, False to refuse a copy, None to copy where needed.

    Raises:
        ShapeError: a copy is needed and refused.
        DTypeError: the object holds something that is no real number.
    """
    from tg_core.array_api.exchange import from_dlpack
    from tg_core.tensor import Tensor

    if isinstance(obj, Tensor):
        return _array_from_array(obj, dtype, device, copy)
    if copy is False:
        if not hasattr(obj, "__dlpack__"):
            raise ShapeError(f"asarray: {type(obj).__name__} becomes an array by a copy only")
        shared = from_dlpack(obj, copy=False)
        return _array_from_array(shared, dtype, device, copy)
    refuse_complex(obj, "asarray")
    if type(obj).__module__ == "numpy":
        import numpy as np

        # a scalar of numpy keeps its dtype, though it may be a Python float as well
        return Tensor(np.asarray(obj), dtype=dtype, device=device)
    if isinstance(obj, SCALARS):
        return Tensor(obj, dtype=dtype, device=device)
    if not isinstance(obj, (list, tuple, bytes, bytearray, memoryview)):
        if hasattr(obj, "__dlpack__"):
            return _array_from_array(from_dlpack(obj), dtype, device, copy)
        if isinstance(obj, range):
            obj = list(obj)
        elif not hasattr(obj, "__array__"):
            obj = memoryview(obj)
    return Tensor(obj, dtype=dtype, device=device)


def _array_from_array(
    x: Tensor, dtype: DType | None, device: str | None, copy: bool | None
) -> Tensor:
    from tg_core.device import Device

    moves = device is not None and Device.require(device) != x.device
    casts = dtype is not None and dtype is not x.dtype
    if copy is False and (moves or casts):
        raise ShapeError("asarray: another dtype or device needs a copy, which copy=False refuses")
    value = x._commit()
    value = value.to(device) if moves else value
    value = value.cast(dtype) if dtype is not None else value
    return fresh(value, x) if copy else value


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return the values from `start` up to, not including, `stop`.

    Args:
        start: the first value; the end when `stop` is None, and 0 is first.
        stop: the end.
        step: the distance of two values.
        dtype: the data type; the default int, or the default float when an argument is a float.
        device: where the array is.

    Raises:
        ShapeError: the step is zero.
    """
    from tg_core.tensor import Tensor

    start, stop, step = plain(start), plain(stop), plain(step)
    first, end = (0, start) if stop is None else (start, stop)
    target = dtype
    if dtype is None and all(isinstance(entry, int) for entry in (first, end, step)):
        default = dtypes.default_int()
        fits = dtypes.min(default) <= first <= end <= dtypes.max(default) or (
            dtypes.min(default) <= end <= first <= dtypes.max(default)
        )
        target = default if fits else dtypes.int64
    return on_device(Tensor.arange(first, end, step, dtype=target), device)


def on_device(x: Tensor, device: str | None) -> Tensor:
    """Return an array that was made of constants where it was asked for."""
    return x if device is None else x.clone(device)


def empty(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return memory whose content is undefined until it is written."""
    from tg_core.tensor import Tensor

    return Tensor.empty(sizes_of(shape), dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return `empty` with the shape, dtype and device of x."""
    value = array_of(x, "empty_like")
    return empty(value._int_shape(), dtype=dtype or value.dtype, device=device or _device_of(value))


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return ones on a diagonal and zeros elsewhere.

    Args:
        n_rows: how many rows.
        n_cols: how many columns, as many as rows unless given.
        k: the diagonal: above the main one when positive, below when negative.
        dtype: the data type, the default float unless given.
        device: where the array is.
    """
    from tg_core.tensor import Tensor

    target = dtypes.default_float() if dtype is None else dtype
    columns = n_rows if n_cols is None else n_cols
    row = Tensor._counting(n_rows, dtypes.int64).reshape((n_rows, 1))
    column = Tensor._counting(columns, dtypes.int64).reshape((1, columns))
    return on_device((column - row).eq(k).cast(target), device)


def full(
    shape: Shape,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return an array of one value, of the default dtype of its kind unless given."""
    from tg_core.tensor import Tensor

    if isinstance(fill_value, Tensor):
        spread = fill_value._commit() if dtype is None else fill_value.cast(dtype)
        return spread._broadcast_to(sizes_of(shape)).clone(device)
    fill_value = plain(fill_value)
    refuse_complex(fill_value, "full")
    if not isinstance(fill_value, SCALARS):
        raise DTypeError(f"full: expected bool, int or float, found {fill_value!r}")
    return Tensor.full(sizes_of(shape), fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor,
    /,
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    device: str | None = None,
) -> Tensor:
    """Return `full` with the shape, dtype and device of x."""
    value = array_of(x, "full_like")
    return full(
        value._int_shape(),
        fill_value,
        dtype=dtype or value.dtype,
        device=device or _device_of(value),
    )


def _device_of(x: Tensor) -> str | None:
    """Return the device of an array, None for a value without memory."""
    found = x.uop.device
    return found if isinstance(found, str) else None


def linspace(
    start: int | float,
    stop: int | float,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """Return `num` evenly spaced values.

    Args:
        start: the first value.
        stop: the last value, or the first one left out when `endpoint` is False.
        num: how many values.
        dtype: the data type, the default float unless given.
        device: where the array is.
        endpoint: whether `stop` is among the values.

    Raises:
        DTypeError: an end is complex.
        ShapeError: `num` is negative.
    """
    from tg_core.tensor import Tensor

    for end in (start, stop):
        refuse_complex(end, "linspace")
    if num < 0:
        raise ShapeError(f"linspace: num must not be negative, found {num}")
    target = dtypes.default_float() if dtype is None else dtype
    # computed in doubles, so that the ends are exact in every dtype
    steps = num - 1 if endpoint else num
    count = Tensor._counting(num, dtypes.int32)
    distance = (float(stop) - float(start)) / steps if steps > 0 else 0.0
    values = count.cast(dtypes.float64) * distance + float(start)
    if endpoint and num > 1:
        values = count.eq(num - 1).where(float(stop), values)
    return on_device(values.cast(target), device)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return coordinate arrays out of coordinate vectors.

    Args:
        *arrays: one vector for each axis.
        indexing: `xy` for Cartesian order (the first two axes exchanged), `ij` for that of
            matrices.

    Raises:
        ShapeError: the indexing is unknown or an array is no vector.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', found {indexing!r}")
    vectors = [array_of(entry, "meshgrid") for entry in arrays]
    if [entry for entry in vectors if entry.ndim != 1]:
        raise ShapeError("meshgrid: expected vectors")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = vector._int_shape()[0]
    grids = []
    for place, vector in zip(places, vectors, strict=True):
        laid = vector.reshape(tuple(n if axis == place else 1 for axis, n in enumerate(shape)))
        grids.append(laid._broadcast_to(tuple(shape)))
    return tuple(grids)


def ones(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return an array of ones, of the default float unless a dtype is given."""
    return full(shape, 1, dtype=dtype or dtypes.default_float(), device=device)


def ones_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return `ones` with the shape, dtype and device of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangle of matrices, with zeros above the diagonal k."""
    return _triangle(x, k, "tril")


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangle of matrices, with zeros below the diagonal k."""
    return _triangle(x, k, "triu")


def _triangle(x: Tensor, k: int, name: str) -> Tensor:
    from tg_core.tensor import Tensor

    value = array_of(x, name)
    if value.ndim < 2:
        raise ShapeError(f"{name}: expected matrices, found shape {value.shape}")
    rows, columns = value._int_shape()[-2:]
    offset = Tensor._counting(columns, dtypes.int32) - Tensor._counting(rows, dtypes.int32).reshape(
        (rows, 1)
    )
    keep = offset <= k if name == "tril" else offset >= k
    return keep.where(value, Tensor.const(0, value.dtype))


def zeros(shape: Shape, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return an array of zeros, of the default float unless a dtype is given."""
    return full(shape, 0, dtype=dtype or dtypes.default_float(), device=device)


def zeros_like(x: Tensor, /, *, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """Return `zeros` with the shape, dtype and device of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def common_dtype(arrays: Sequence[Tensor], name: str) -> tuple[list[Tensor], DType]:
    """Return arrays cast to their common dtype, and that dtype.

    Raises:
        ShapeError: there is none.
    """
    if not arrays:
        raise ShapeError(f"{name}: expected at least one array")
    values = [array_of(entry, name) for entry in arrays]
    dtype = result_type(*values)
    return [value.cast(dtype) for value in values], dtype
