"""Elementwise rounding, signs and predicates of floats, and the parts of complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.float_bits import magnitude_bits, sign_bits, unsigned_of
from tg_core.array_api.operands import array_of, float_pair, floats_of, fresh
from tg_core.dtype import dtypes
from tg_core.errors import DTypeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

Scalar = bool | int | float


def ceil(x: Tensor, /) -> Tensor:
    """Return the least whole number not below x, in the dtype of x."""
    value = array_of(x, "ceil")
    return fresh(value.ceil(), value)


def floor(x: Tensor, /) -> Tensor:
    """Return the greatest whole number not above x, in the dtype of x."""
    value = array_of(x, "floor")
    return fresh(value.floor(), value)


def round(x: Tensor, /) -> Tensor:
    """Return the nearest whole number, halves to even, in the dtype of x."""
    value = array_of(x, "round")
    return fresh(value.round(), value)


def trunc(x: Tensor, /) -> Tensor:
    """Return x rounded toward zero, in the dtype of x."""
    value = array_of(x, "trunc")
    return fresh(value.trunc(), value)


def sign(x: Tensor, /) -> Tensor:
    """Return -1, 0 or 1 by the sign of x, NaN for NaN."""
    value = array_of(x, "sign")
    return fresh(value.sign(), value)


def signbit(x: Tensor, /) -> Tensor:
    """Return where the sign bit of a float is set, that of -0 and NaN too."""
    value = floats_of(x, "signbit")
    return sign_bits(value).ne(0)


def copysign(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the magnitude of x1 with the sign bit of x2."""
    left, right = float_pair(x1, x2, "copysign")
    return (magnitude_bits(left) | sign_bits(right)).bitcast(left.dtype)


def nextafter(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the next number after x1 that its dtype can hold, in the direction of x2."""
    left, right = float_pair(x1, x2, "nextafter")
    bits = left.bitcast(unsigned_of(left.dtype))
    # numbers of one sign are ordered as their bits are
    away = (left < right).eq(left > 0.0)
    moved = away.where(bits + 1, bits - 1).bitcast(left.dtype)
    least = (sign_bits(right) | 1).bitcast(left.dtype)
    moved = left.eq(0.0).where(least, moved)
    result = left.eq(right).where(right, moved)
    return (left.isnan() | right.isnan()).where(left + right, result)


def hypot(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the length of the hypotenuse, without overflow; an infinity wins over NaN."""
    left, right = float_pair(x1, x2, "hypot")
    first, second = left._wide().abs(), right._wide().abs()
    longer, shorter = first.maximum(second), first.minimum(second)
    ratio = shorter / longer.eq(0.0).where(1.0, longer)
    length = longer * (ratio * ratio + 1.0).sqrt()
    infinite = first.isinf() | second.isinf()
    return infinite.where(float("inf"), length).cast(left.dtype)


def isfinite(x: Tensor, /) -> Tensor:
    """Return where x is neither infinite nor NaN."""
    return array_of(x, "isfinite").isfinite()


def isinf(x: Tensor, /) -> Tensor:
    """Return where x is infinite."""
    return array_of(x, "isinf").isinf()


def isnan(x: Tensor, /) -> Tensor:
    """Return where x is NaN."""
    return array_of(x, "isnan").isnan()


def conj(x: Tensor, /) -> Tensor:
    """Return the complex conjugate: a copy, as every array is real here."""
    value = array_of(x, "conj")
    return fresh(value, value)


def real(x: Tensor, /) -> Tensor:
    """Return the real part: a copy, as every array is real here."""
    value = array_of(x, "real")
    return fresh(value, value)


def imag(x: Tensor, /) -> Tensor:
    """Return the imaginary part, which is zero as every array is real here.

    Raises:
        DTypeError: the array is bool.
    """
    value = array_of(x, "imag")
    if value.dtype is dtypes.bool:
        raise DTypeError("imag: expected numbers, found bool")
    return value.zeros_like()
