"""The element types of the format, and what holds them here.

Types narrower than a byte, and the exponents of block scales, have no dtype here. Their values are
held by a wider dtype that represents every one of them exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError

__all__ = ["CODES", "LEFT_OUT", "ElementType", "element_of_array", "element_of_dtype"]


@dataclass(frozen=True)
class ElementType:
    """One element type, `TensorProto.DataType` of onnx.proto."""

    code: int
    """Its number in files."""
    name: str
    """Its name in files, in lower case."""
    dtype: DType
    """What holds its values here."""
    bits: int
    """Its size in files."""
    limits: tuple[int, int] | None = None
    """The least and greatest value, where they are not those of the dtype."""
    array_name: str = ""
    """Its name as an extension of numpy, where numpy itself lacks it."""

    @property
    def is_narrow(self) -> bool:
        """Tell whether a wider dtype holds the values."""
        return self.bits < 8 or self.name == "float8e8m0"


CODES: Mapping[int, ElementType] = {
    element.code: element
    for element in (
        ElementType(1, "float", dtypes.float32, 32),
        ElementType(2, "uint8", dtypes.uint8, 8),
        ElementType(3, "int8", dtypes.int8, 8),
        ElementType(4, "uint16", dtypes.uint16, 16),
        ElementType(5, "int16", dtypes.int16, 16),
        ElementType(6, "int32", dtypes.int32, 32),
        ElementType(7, "int64", dtypes.int64, 64),
        ElementType(9, "bool", dtypes.bool, 8),
        ElementType(10, "float16", dtypes.float16, 16),
        ElementType(11, "double", dtypes.float64, 64),
        ElementType(12, "uint32", dtypes.uint32, 32),
        ElementType(13, "uint64", dtypes.uint64, 64),
        ElementType(16, "bfloat16", dtypes.bfloat16, 16, None, "bfloat16"),
        ElementType(17, "float8e4m3fn", dtypes.fp8e4m3, 8, None, "float8_e4m3fn"),
        ElementType(18, "float8e4m3fnuz", dtypes.fp8e4m3fnuz, 8, None, "float8_e4m3fnuz"),
        ElementType(19, "float8e5m2", dtypes.fp8e5m2, 8, None, "float8_e5m2"),
        ElementType(20, "float8e5m2fnuz", dtypes.fp8e5m2fnuz, 8, None, "float8_e5m2fnuz"),
        ElementType(21, "uint4", dtypes.uint8, 4, (0, 15), "uint4"),
        ElementType(22, "int4", dtypes.int8, 4, (-8, 7), "int4"),
        ElementType(23, "float4e2m1", dtypes.float16, 4, (-6, 6), "float4_e2m1fn"),
        ElementType(24, "float8e8m0", dtypes.float32, 8, None, "float8_e8m0fnu"),
        ElementType(25, "uint2", dtypes.uint8, 2, (0, 3), "uint2"),
        ElementType(26, "int2", dtypes.int8, 2, (-2, 1), "int2"),
    )
}
"""Element types by their number."""

LEFT_OUT: Mapping[int, str] = {
    0: "undefined",
    8: "string: tensors hold numbers",
    14: "complex64: no dtype here",
    15: "complex128: no dtype here",
}
"""Element types that are not supported, and why."""

_BY_DTYPE = {e.dtype: e for e in CODES.values() if not e.is_narrow}
_BY_ARRAY_NAME = {e.array_name: e for e in CODES.values() if e.array_name}


def element_of_dtype(dtype: DType) -> ElementType:
    """Return the element type that a dtype is called in files."""
    return _BY_DTYPE[dtype]


def element_of_array(dtype: np.dtype[Any]) -> ElementType:
    """Return the element type of a numpy array, extensions included.

    Raises:
        DTypeError: there is none.
    """
    if dtype.name in _BY_ARRAY_NAME:
        return _BY_ARRAY_NAME[dtype.name]
    name = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
    for element in CODES.values():
        if element.name == name:
            return element
    raise DTypeError(f"onnx: arrays of {dtype} are not supported")
