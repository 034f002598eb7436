"""Conversion of element types."""

from __future__ import annotations

from typing import Literal

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.casting import converted, element_of_code
from tg_core.onnx.registry import operator
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["bit_cast", "cast", "cast_like"]

_CODES_BY_NAME = {
    "FLOAT": 1,
    "UINT8": 2,
    "INT8": 3,
    "UINT16": 4,
    "INT16": 5,
    "INT32": 6,
    "INT64": 7,
    "BOOL": 9,
    "FLOAT16": 10,
    "DOUBLE": 11,
    "UINT32": 12,
    "UINT64": 13,
}


@operator("Cast", since=1)
def cast_by_name(x: Tensor, *, to: str) -> Value:
    """Return x as another type, called by its name."""
    return converted(x, element_of_code(_CODES_BY_NAME.get(to.upper(), 0)))


@operator("Cast", since=6)
def cast(
    x: Tensor,
    *,
    to: int,
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
) -> Value:
    """Return x as another type."""
    return converted(x, element_of_code(to), saturate, round_mode)


@operator("CastLike", since=15)
def cast_like(
    x: Tensor,
    target: Value,
    *,
    saturate: bool = True,
    round_mode: Literal["up", "down", "nearest"] = "up",
) -> Value:
    """Return x as the type of another tensor."""
    return converted(x, target.element, saturate, round_mode)


@operator("BitCast", since=26)
def bit_cast(x: Tensor, *, to: int) -> Value:
    """Return the bits of x read as another type of the same size."""
    target = element_of_code(to)
    if target.dtype.itemsize != x.dtype.itemsize or target.is_narrow:
        raise ShapeError(f"{x.dtype.name} and {target.name} differ in size")
    if dtypes.bool in (target.dtype, x.dtype):
        return Value(x.cast(target.dtype))
    return Value(x.bitcast(target.dtype))
