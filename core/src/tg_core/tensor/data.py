"""Data from outside as graph nodes: scalars, nested lists, bytes, numpy arrays.

Memory views and files.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import DType, InvalidType, PyConst, dtypes, from_numpy, truncate
from tg_core.errors import DTypeError, FileFormatError, ShapeError
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    import numpy as np

_FORMATS = {
    dtypes.bool: "?",
    dtypes.int8: "b",
    dtypes.uint8: "B",
    dtypes.int16: "h",
    dtypes.uint16: "H",
    dtypes.int32: "i",
    dtypes.uint32: "I",
    dtypes.int64: "q",
    dtypes.uint64: "Q",
    dtypes.float16: "e",
    dtypes.float32: "f",
    dtypes.float64: "d",
}
_BY_FORMAT = {fmt: dtype for dtype, fmt in _FORMATS.items()} | {
    "l": dtypes.int64 if struct.calcsize("l") == 8 else dtypes.int32,
    "L": dtypes.uint64 if struct.calcsize("L") == 8 else dtypes.uint32,
    "c": dtypes.uint8,
}


def format_of(dtype: DType) -> str | None:
    """Return the struct format character of a dtype, or None when Python has none."""
    return _FORMATS.get(dtype)


def scalar_dtype(value: PyConst) -> DType:
    """Return the dtype that a Python scalar commits to when none is given."""
    if not isinstance(value, (bool, int, float)):
        raise DTypeError(f"tensor: expected bool, int or float, found {value!r}")
    if isinstance(value, bool):
        return dtypes.bool
    if isinstance(value, float):
        return dtypes.default_float()
    default = dtypes.default_int()
    if dtypes.min(default) <= value <= dtypes.max(default):
        return default
    if not -(2**63) <= value < 2**63:
        raise DTypeError(f"tensor: {value} does not fit int64, give dtype=dtypes.uint64 or a float")
    return dtypes.int64


def from_scalar(value: Any, dtype: DType | None) -> UOp:
    """Return a constant without device."""
    if isinstance(value, InvalidType):
        return UOp.const(value)
    plain = _python_scalar(value)
    target = dtype or scalar_dtype(plain)
    _check_integral(plain, target)
    return UOp.const(plain, target)


def _python_scalar(value: Any) -> PyConst:
    if isinstance(value, bool):
        return bool(value)
    return int(value) if isinstance(value, int) else float(value)


def _check_integral(value: PyConst, dtype: DType) -> None:
    if dtypes.is_int(dtype) and isinstance(value, float) and not math.isfinite(value):
        raise DTypeError(f"tensor: {value} is no {dtype.name}")


def _flatten(data: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of nested sequences and their scalars in row-major order.

    Raises:
        ShapeError: the sequences of one level differ in length.
    """
    shape: list[int] = []
    level: list[Any] = [data]
    while level and isinstance(level[0], (list, tuple)):
        length = len(level[0])
        for entry in level:
            if not isinstance(entry, (list, tuple)) or len(entry) != length:
                found = len(entry) if isinstance(entry, (list, tuple)) else "a scalar"
                raise ShapeError(
                    f"tensor: ragged data, axis {len(shape)} has {length} entries and {found}"
                )
        shape.append(length)
        level = [item for entry in level for item in entry]
    for item in level:
        if isinstance(item, (list, tuple)):
            raise ShapeError(f"tensor: ragged data, axis {len(shape)} has scalars and sequences")
    return tuple(shape), level


def _common_dtype(values: list[PyConst]) -> DType:
    if not values or any(isinstance(value, float) for value in values):
        return dtypes.default_float()
    if all(isinstance(value, bool) for value in values):
        return dtypes.bool
    low, high = min(values), max(values)
    return scalar_dtype(low if -low > high else high)


def from_sequence(data: Sequence[Any], dtype: DType | None) -> tuple[UOp, DType]:
    """Return the nested lists as a node on `PYTHON`, and the dtype wanted in the end.

    A dtype that Python cannot pack arrives as float32, for the target device to convert.
    """
    shape, items = _flatten(data)
    for item in items:
        if not isinstance(item, (int, float)) and not _is_number(item):
            raise DTypeError(f"tensor: expected bool, int or float, found {type(item).__name__}")
    values = [_python_scalar(_unwrap(item)) for item in items]
    wanted = dtype or _common_dtype(values)
    stored = wanted if wanted in _FORMATS else dtypes.float32
    if dtypes.is_int(stored):
        for value in values:
            _check_integral(value, stored)
    packed = [truncate(value, stored) for value in values]
    raw = struct.pack(f"={len(packed)}{_FORMATS[stored]}", *packed)
    return _host_buffer("PYTHON", raw, stored, shape), wanted


def _is_number(item: Any) -> bool:
    """Tell whether this is a numpy scalar."""
    return getattr(item, "shape", None) == () and hasattr(item, "item")


def _unwrap(item: Any) -> Any:
    return item if isinstance(item, (bool, int, float)) else item.item()


def _host_buffer(device: str, raw: bytes | memoryview, dtype: DType, shape: tuple[int, ...]) -> UOp:
    """Return a node of `shape` over new host storage that holds a copy of `raw`."""
    from tg_core.device.storage import buffer_of, new_buffer_uop

    size = math.prod(shape)
    if size == 0:
        return _empty(UOp.const(0, dtype), shape)
    node = new_buffer_uop(device, size, dtype)
    buffer = buffer_of(node)
    assert buffer is not None
    buffer.ensure_allocated()
    buffer.copyin(memoryview(raw))
    return node.reshape(shape)


def _empty(scalar: UOp, shape: tuple[int, ...]) -> UOp:
    return scalar._broadcast_to(shape)


def from_bytes(data: bytes | bytearray, dtype: DType | None) -> UOp:
    """Return bytes read as a vector of `dtype` (uint8 unless given).

    Raises:
        ShapeError: the length is no multiple of the item size.
    """
    wanted = dtype or dtypes.uint8
    if len(data) % wanted.itemsize:
        raise ShapeError(f"tensor: {len(data)} bytes are no whole number of {wanted.name}")
    return _host_buffer("PYTHON", bytes(data), wanted, (len(data) // wanted.itemsize,))


def from_memoryview(data: memoryview) -> UOp:
    """Return the values a memory view shows, whatever its strides.

    Raises:
        DTypeError: its format is not one of ours.
    """
    dtype = _BY_FORMAT.get(data.format.lstrip("@="))
    if dtype is None:
        raise DTypeError(f"tensor: memoryview of format {data.format!r} has no counterpart")
    return _host_buffer("PYTHON", data.tobytes(), dtype, tuple(data.shape or ()))


def from_array(data: np.ndarray) -> UOp:
    """Return a copy of a numpy array, whatever its strides and byte order.

    Raises:
        DTypeError: its dtype has no counterpart.
    """
    import numpy as np

    if data.dtype.name == "bfloat16":
        bits = np.ascontiguousarray(data).view(np.uint16).reshape(data.shape)
        return from_array(bits).bitcast(dtypes.bfloat16)
    native = data.astype(data.dtype.newbyteorder("="), copy=False)
    dtype = from_numpy(native.dtype)
    # one dimension less to care about: a 0-d array has no buffer of its own shape
    flat = np.ascontiguousarray(native).reshape(-1)
    return _host_buffer("NPY", flat.data.cast("B") if flat.size else b"", dtype, data.shape)


def from_path(path: os.PathLike[str], dtype: DType | None) -> UOp:
    """Return the content of a file as a vector on `DISK`.

    Raises:
        FileFormatError: the file does not exist, or its size is no multiple of the item size.
    """
    from tg_core.device.storage import new_buffer_uop

    wanted = dtype or dtypes.uint8
    name = os.fsdecode(path)
    if not os.path.isfile(name):
        raise FileFormatError(f"tensor: {name} is not a file")
    size = os.path.getsize(name)
    if size % wanted.itemsize:
        raise FileFormatError(f"tensor: {name} has {size} bytes, no whole number of {wanted.name}")
    if size == 0:
        return _empty(UOp.const(0, wanted), (0,))
    # the parts of a path may be links, so none is taken out of it
    place = name if os.path.isabs(name) else os.path.join(os.getcwd(), name)
    return new_buffer_uop(f"DISK:{place}", size // wanted.itemsize, wanted)
