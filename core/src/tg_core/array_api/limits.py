"""The limits of data types."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tg_core.array_api.operands import array_of
from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


@dataclass(frozen=True)
class FloatLimits:
    """The limits of a floating-point data type."""

    bits: int
    """Its width."""
    eps: float
    """The distance from 1 to the next number."""
    max: float
    """The greatest finite number."""
    min: float
    """The least finite number."""
    smallest_normal: float
    """The smallest positive number with full precision."""
    dtype: DType
    """The data type."""


@dataclass(frozen=True)
class IntegerLimits:
    """The limits of an integer data type."""

    bits: int
    """Its width."""
    max: int
    """The greatest number."""
    min: int
    """The least number."""
    dtype: DType
    """The data type."""


def _dtype_of(type_: Any, name: str) -> DType:
    return type_ if isinstance(type_, DType) else array_of(type_, name).dtype


def finfo(type: DType | Tensor, /) -> FloatLimits:
    """Return the limits of a floating-point data type, or of that of an array.

    Raises:
        DTypeError: it is no float.
    """
    dtype = _dtype_of(type, "finfo")
    if not dtypes.is_float(dtype) or dtypes.is_weak(dtype):
        raise DTypeError(f"finfo: expected a float, found {dtype.name}")
    fraction = dtype.bits - 1 - dtype.exponent_bits
    bias = (1 << (dtype.exponent_bits - 1)) - (not dtype.name.endswith("fnuz"))
    return FloatLimits(
        bits=dtype.bits,
        eps=math.ldexp(1.0, -fraction),
        max=dtype.finite_max,
        min=-dtype.finite_max,
        smallest_normal=math.ldexp(1.0, 1 - bias),
        dtype=dtype,
    )


def iinfo(type: DType | Tensor, /) -> IntegerLimits:
    """Return the limits of an integer data type, or of that of an array.

    Raises:
        DTypeError: it is no integer.
    """
    dtype = _dtype_of(type, "iinfo")
    if not dtypes.is_int(dtype) or dtypes.is_weak(dtype):
        raise DTypeError(f"iinfo: expected an integer, found {dtype.name}")
    return IntegerLimits(
        bits=dtype.bits, max=int(dtypes.max(dtype)), min=int(dtypes.min(dtype)), dtype=dtype
    )
