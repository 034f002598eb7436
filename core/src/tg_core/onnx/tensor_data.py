"""The tensors that a file holds, checked against its size before anything is reserved for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tg_core.dtype import dtypes, to_numpy
from tg_core.errors import FileFormatError, UnsupportedModel
from tg_core.onnx.element_types import CODES, LEFT_OUT, ElementType
from tg_core.onnx.external_data import read_external
from tg_core.onnx.values import Lane, Value
from tg_core.tensor import Tensor

__all__ = ["FOLDED_SIZE", "read_tensor"]

FOLDED_SIZE = 4096
"""How many elements an array may have that is computed with while the graph is built."""

EXTERNAL = 1
"""`TensorProto.DataLocation`: the data is in another file."""

_FIELDS: Mapping[str, tuple[str, Any]] = {
    **dict.fromkeys(("float",), ("float_data", np.float32)),
    **dict.fromkeys(("double",), ("double_data", np.float64)),
    **dict.fromkeys(("int64",), ("int64_data", np.int64)),
    **dict.fromkeys(("uint32", "uint64"), ("uint64_data", np.uint64)),
}
"""The field for data that is not raw, and the type of its entries; all others use `int32_data`."""

FP4_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float16)
"""The magnitudes of E2M1. Source: OCP Microscaling Formats 1.0, 5.3.3."""
E8M0_NAN, E8M0_BIAS = 255, 127
"""Source: OCP Microscaling Formats 1.0, 5.4.1."""


def read_tensor(proto: Any, folder: Path | None) -> Value:
    """Return a tensor of a file.

    Args:
        proto: the `TensorProto`.
        folder: where external data may be; None refuses it.

    Raises:
        FileFormatError: sizes and data do not fit.
        UnsupportedModel: the element type is not supported.
    """
    what = f"tensor {proto.name!r}"
    element = CODES.get(proto.data_type)
    if element is None:
        why = LEFT_OUT.get(proto.data_type, f"unknown element type {proto.data_type}")
        raise UnsupportedModel(f"onnx: {what}: {why}")
    shape = tuple(proto.dims)
    if any(size < 0 for size in shape):
        raise FileFormatError(f"onnx: {what}: sizes must not be negative, found {shape}")
    if proto.HasField("segment"):
        raise UnsupportedModel(f"onnx: {what}: segments are not supported")
    count = math.prod(shape)
    expected = -(-count * element.bits // 8)
    if proto.data_location == EXTERNAL:
        raw: Any = read_external(proto, folder, expected, what)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
    else:
        raw = _from_fields(proto, element, count, what)
    if len(raw) != expected:
        raise FileFormatError(
            f"onnx: {what}: {element.name} of shape {shape} takes {expected} bytes, found "
            f"{len(raw)}"
        )
    try:
        return _decode(raw, element, shape, count)
    except ValueError as error:
        raise FileFormatError(f"onnx: {what}: shape {shape}: {error}") from error


def _from_fields(proto: Any, element: ElementType, count: int, what: str) -> bytes:
    field, entry = _FIELDS.get(element.name, ("int32_data", np.int32))
    stored = getattr(proto, field)
    # entries of int32_data hold one byte of packed values each
    entries = -(-count * element.bits // 8) if element.bits < 8 else count
    if len(stored) != entries:
        raise FileFormatError(
            f"onnx: {what}: {count} elements of {element.name} take {entries} entries of {field}, "
            f"found {len(stored)}"
        )
    values = np.fromiter(stored, entry, count=entries)
    if element.bits < 8:
        return values.astype(np.uint8).tobytes()
    if element.name in ("float", "double"):
        return values.tobytes()
    return values.astype(f"<u{element.bits // 8}").tobytes()


def _decode(raw: Any, element: ElementType, shape: tuple[int, ...], count: int) -> Value:
    if element.is_narrow:
        array = _WIDEN[element.name](np.frombuffer(raw, np.uint8), count).reshape(shape)
        return Value(None, array, Lane.CONSTANT, element)
    known = to_numpy(element.dtype)
    if known is None:
        bits = np.frombuffer(raw, f"<u{element.dtype.itemsize}").reshape(shape)
        return Value(Tensor(bits).bitcast(element.dtype), lane=Lane.CONSTANT)
    if element.dtype is dtypes.bool:
        return Value(None, np.frombuffer(raw, np.uint8).reshape(shape) != 0, Lane.CONSTANT)
    array = np.frombuffer(raw, np.dtype(known).newbyteorder("<")).reshape(shape)
    return Value(None, array.astype(known, copy=False), Lane.CONSTANT)


def _unpacked(raw: np.ndarray, count: int, bits: int) -> np.ndarray:
    """Return values packed in bytes, the lowest bits first, as bytes."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    apart = (raw[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return apart.reshape(-1)[:count]


def _signed(raw: np.ndarray, count: int, bits: int) -> np.ndarray:
    up = np.uint8(8 - bits)
    return (_unpacked(raw, count, bits) << up).view(np.int8) >> np.int8(8 - bits)


def _uint4(raw: np.ndarray, count: int) -> np.ndarray:
    return _unpacked(raw, count, 4)


def _int4(raw: np.ndarray, count: int) -> np.ndarray:
    return _signed(raw, count, 4)


def _uint2(raw: np.ndarray, count: int) -> np.ndarray:
    return _unpacked(raw, count, 2)


def _int2(raw: np.ndarray, count: int) -> np.ndarray:
    return _signed(raw, count, 2)


def _float4(raw: np.ndarray, count: int) -> np.ndarray:
    codes = _unpacked(raw, count, 4)
    signs = np.where(codes & 8, np.float16(-1), np.float16(1))
    values: np.ndarray = signs * FP4_VALUES[codes & 7]
    return values


def _float8e8m0(raw: np.ndarray, count: int) -> np.ndarray:
    powers = np.ldexp(np.float32(1), raw[:count].astype(np.int32) - E8M0_BIAS)
    return np.where(raw[:count] == E8M0_NAN, np.float32(np.nan), powers)


_WIDEN: Mapping[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "uint4": _uint4,
    "int4": _int4,
    "uint2": _uint2,
    "int2": _int2,
    "float4e2m1": _float4,
    "float8e8m0": _float8e8m0,
}
