"""Floats as the integers that their bits are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import DType, dtypes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

_BY_BITS = {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.uint32, 64: dtypes.uint64}


def unsigned_of(dtype: DType) -> DType:
    """Return the unsigned integer of the width of a float."""
    return _BY_BITS[dtype.bits]


def sign_bits(x: Tensor) -> Tensor:
    """Return the bits of x with all but the sign bit cleared."""
    return x.bitcast(unsigned_of(x.dtype)) & (1 << (x.dtype.bits - 1))


def magnitude_bits(x: Tensor) -> Tensor:
    """Return the bits of x with the sign bit cleared."""
    return x.bitcast(unsigned_of(x.dtype)) & ((1 << (x.dtype.bits - 1)) - 1)
