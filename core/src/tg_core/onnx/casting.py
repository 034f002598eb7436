"""Conversion between element types, by the rules of the format."""

from __future__ import annotations

import math

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.onnx.element_types import CODES, LEFT_OUT, ElementType
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["converted", "element_of_code"]

E8M0_LEAST, E8M0_GREATEST = 2.0**-127, 2.0**127
"""Source: OCP Microscaling Formats 1.0, 5.4.1."""
HALF = 1 << 22
"""Half of what the mantissa of a float32 counts."""
FP4_STEPS = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
"""Halfway between the magnitudes of E2M1. Source: the same, 5.3.3."""
FP4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)

INFINITY_E5M2, MINUS_INFINITY_E5M2 = 0x7C, 0xFC
"""Source: OCP 8-bit Floating Point Specification 1.0, table 1."""


def element_of_code(code: int) -> ElementType:
    """Return an element type by its number.

    Raises:
        DTypeError: it is not supported.
    """
    if code not in CODES:
        raise DTypeError(LEFT_OUT.get(code, f"unknown element type {code}"))
    return CODES[code]


def converted(
    x: Tensor, target: ElementType, saturate: bool = True, round_mode: str = "up"
) -> Value:
    """Return a tensor as another element type.

    Args:
        x: the tensor.
        target: the type.
        saturate: fp8 types clamp what is out of range, instead of giving infinity or NaN.
        round_mode: how float8e8m0 rounds: `up`, `down` or `nearest`.
    """
    if target.name == "float4e2m1":
        return Value(_to_float4(x.float()).cast(target.dtype), element=target)
    if target.name == "float8e8m0":
        return Value(_to_power(x.float(), round_mode, saturate), element=target)
    if target.limits is not None:
        return Value(_to_narrow_int(x, target), element=target)
    if target.dtype in dtypes.fp8s and dtypes.is_float(x.dtype):
        return Value(_to_fp8(x, target, saturate))
    return Value(x.cast(target.dtype))


def _to_fp8(x: Tensor, target: ElementType, saturate: bool) -> Tensor:
    top = target.dtype.finite_max
    wide = x if x.dtype in (dtypes.float32, dtypes.float64) else x.float()
    inside = wide.clip(-top, top).cast(target.dtype)
    if saturate:
        return inside
    # what rounds to more than the greatest value is infinite, or NaN where there is no infinity
    mantissa_bits = 7 - target.dtype.exponent_bits
    exponent = math.floor(math.log2(top))
    limit = top + 2.0 ** (exponent - mantissa_bits) / 2
    ties_away = int(top / 2.0 ** (exponent - mantissa_bits)) % 2 == 1
    beyond = wide.abs() >= limit if ties_away else wide.abs() > limit
    if target.dtype is not dtypes.fp8e5m2:
        return beyond.where(wide.const_like(math.nan).cast(target.dtype), inside)
    # as bits: arithmetic on fp8 saturates, an infinity would not survive it
    infinite = (wide < 0).where(MINUS_INFINITY_E5M2, INFINITY_E5M2).cast(dtypes.uint8)
    return beyond.where(infinite, inside.bitcast(dtypes.uint8)).bitcast(target.dtype)


def _to_narrow_int(x: Tensor, target: ElementType) -> Tensor:
    assert target.limits is not None
    low, high = target.limits
    if dtypes.is_float(x.dtype):
        # out of range is undefined by the standard; its reference gives 0
        whole = x.cast(dtypes.int32)
        inside = (whole >= low) & (whole <= high)
        return inside.where(whole, 0).cast(target.dtype)
    span = high - low + 1
    wide = x.cast(dtypes.int32)
    return ((wide - low) % span + low).cast(target.dtype)


def _to_float4(x: Tensor) -> Tensor:
    """Round to the nearest value, ties to even, and clamp; NaN, which the type lacks, gives -0."""
    size = x.abs()
    result = size.const_like(0.0)
    for number, step in enumerate(FP4_STEPS):
        above = size >= step if number % 2 else size > step
        result = above.where(FP4_MAGNITUDES[number + 1], result)
    return x.isnan().where(-0.0, result.copysign(x))


def _to_power(x: Tensor, round_mode: str, saturate: bool) -> Tensor:
    """Round to a power of two; the type has no sign and no zero."""
    bits = x.bitcast(dtypes.uint32)
    exponent = (bits >> 23) & 0xFF
    mantissa = bits & (2 * HALF - 1)
    # an exponent of 0 stands for 2**-127 here, which is a subnormal number of half the mantissa
    subnormal = exponent.eq(0)
    if round_mode == "up":
        more = mantissa > subnormal.where(HALF, 0)
    elif round_mode == "nearest":
        more = mantissa >= subnormal.where(HALF + HALF // 2, HALF)
    else:
        more = mantissa < 0
    power = exponent + more.cast(dtypes.uint32)
    invalid = x.isnan() | x.isinf() if not saturate else x.isnan()
    power = power.minimum(254)
    value = power.eq(0).where(E8M0_LEAST, (power << 23).bitcast(dtypes.float32))
    return invalid.where(math.nan, value)
