"""Encoding and decoding of narrow floats with integer and float32 operations.

| format | sign, exponent, mantissa | bias | infinity | beyond the largest |
|---|---|---|---|---|
| float16 | 1, 5, 10 | 15 | yes | infinity |
| bfloat16 | 1, 8, 7 | 127 | yes | infinity |
| fp8e4m3 | 1, 4, 3 | 7 | no, NaN is 0x7F | saturates |
| fp8e5m2 | 1, 5, 2 | 15 | yes | saturates |
| fp8e4m3fnuz | 1, 4, 3 | 8 | no, NaN is 0x80 | saturates |
| fp8e5m2fnuz | 1, 5, 2 | 16 | no, NaN is 0x80 | saturates |

Source:
    IEEE 754-2019; OCP 8-bit floating point specification 1.0, section 5; "8-bit numerical formats
    for deep neural networks", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tg_core.codegen.decompositions.utils import (
    choose,
    is_equal,
    less,
    lit,
    shift_left,
    shift_right,
)
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import UOp

_FLOAT32_BIAS: Final = 127
_FLOAT32_MANTISSA: Final = 23
_FLOAT32_INFINITY: Final = 0x7F800000


@dataclass(frozen=True)
class NarrowFormat:
    """Layout of a float narrower than float32."""

    unsigned: DType
    """Integer of the same width."""
    mantissa_bits: int
    bias: int
    nan: int
    """Code without sign that NaN is encoded to."""
    largest: int
    """Code of the largest finite value."""
    overflow: int
    """Code of everything beyond it."""
    unsigned_zero: bool = False
    """The code of minus zero is the only NaN."""

    @property
    def infinity(self) -> int | None:
        """Code of infinity without sign, None where there is none."""
        special = self.largest + 1
        return None if self.unsigned_zero or self.nan == special else special

    @property
    def sign_shift(self) -> int:
        """Position of the sign bit."""
        return self.unsigned.bits - 1


FORMATS: Final = {
    dtypes.float16: NarrowFormat(dtypes.uint16, 10, 15, 0x7E00, 0x7BFF, 0x7C00),
    dtypes.bfloat16: NarrowFormat(dtypes.uint16, 7, 127, 0x7FC0, 0x7F7F, 0x7F80),
    dtypes.fp8e4m3: NarrowFormat(dtypes.uint8, 3, 7, 0x7F, 0x7E, 0x7E),
    dtypes.fp8e5m2: NarrowFormat(dtypes.uint8, 2, 15, 0x7E, 0x7B, 0x7B),
    dtypes.fp8e4m3fnuz: NarrowFormat(dtypes.uint8, 3, 8, 0x80, 0x7F, 0x7F, True),
    dtypes.fp8e5m2fnuz: NarrowFormat(dtypes.uint8, 2, 16, 0x80, 0x7F, 0x7F, True),
}


def decode(code: UOp, dtype: DType) -> UOp:
    """Return the float32 value of a code; exact.

    Args:
        code: unsigned integer of the format's width.
        dtype: the format.
    """
    layout = FORMATS[dtype]
    bits = code.cast(dtypes.uint32)
    sign = shift_right(bits, layout.sign_shift)
    size = bits & lit((1 << layout.sign_shift) - 1, bits)
    # read as float32 the code is off by a power of two only, for subnormal codes too
    moved = shift_left(size, _FLOAT32_MANTISSA - layout.mantissa_bits).bitcast(dtypes.float32)
    value = (
        moved
        if layout.bias == _FLOAT32_BIAS
        else moved * lit(2.0 ** (_FLOAT32_BIAS - layout.bias), moved)
    )
    magnitude = value.bitcast(dtypes.uint32)
    if layout.bias != _FLOAT32_BIAS and not layout.unsigned_zero:
        special = less(lit(layout.largest, size), size)
        infinite = lit(_FLOAT32_INFINITY, size)
        chosen = lit(0x7FC00000, size)
        if layout.infinity is not None:
            chosen = choose(is_equal(size, layout.infinity), infinite, chosen)
        magnitude = choose(special, chosen, magnitude)
    signed = magnitude | shift_left(sign, 31)
    if layout.unsigned_zero:
        signed = choose(is_equal(bits, 1 << layout.sign_shift), lit(0x7FC00000, bits), signed)
    return signed.bitcast(dtypes.float32)


def round_to_odd(value: UOp) -> UOp:
    """Return a float64 as a float32 that a further rounding, to a format of at most 21 bits of
    mantissa, takes where it would take the float64: toward zero, with the last bit set where
    something was dropped.

    Args:
        value: float64.
    """
    nearest = value.cast(dtypes.float32)
    back = nearest.cast(dtypes.float64)
    # comparisons with NaN are false, so NaN stays what the conversion makes of it
    below, above = less(back, value), less(value, back)
    away = choose(less(value, lit(0.0, value)), below, above)
    bits = nearest.bitcast(dtypes.uint32)
    one, none = lit(1, bits), lit(0, bits)
    odd = (bits - choose(away, one, none)) | choose(below | above, one, none)
    return odd.bitcast(dtypes.float32)


def encode(value: UOp, dtype: DType) -> UOp:
    """Return the code nearest to a float32 value, ties to even; NaN stays NaN.

    Args:
        value: float32.
        dtype: the format.
    """
    layout = FORMATS[dtype]
    bits = value.bitcast(dtypes.uint32)
    sign = shift_right(bits, 31)
    size = bits & lit(0x7FFFFFFF, bits)
    dropped = _FLOAT32_MANTISSA - layout.mantissa_bits
    odd = shift_right(size, dropped) & lit(1, size)
    rounded = shift_right(size + lit((1 << (dropped - 1)) - 1, size) + odd, dropped)
    rebias = (_FLOAT32_BIAS - layout.bias) << layout.mantissa_bits
    code = rounded if not rebias else rounded - lit(rebias, rounded)
    if rebias:
        # below the least normal number, adding a constant whose last bit weighs the spacing rounds
        # to that spacing
        spacing = lit(2.0 ** (1 - layout.bias - layout.mantissa_bits + _FLOAT32_MANTISSA), value)
        fixed = (size.bitcast(dtypes.float32) + spacing).bitcast(dtypes.uint32) - spacing.bitcast(
            dtypes.uint32
        )
        least_normal = lit((1 - layout.bias + _FLOAT32_BIAS) << _FLOAT32_MANTISSA, size)
        code = choose(less(size, least_normal), fixed, code)
        largest = lit((layout.largest + rebias + 1) << dropped, size)
        beyond = less(lit(layout.largest, code), code) & less(least_normal, size)
        beyond = beyond | less(largest, size)
        code = choose(beyond, lit(layout.overflow, code), code)
    not_a_number = less(lit(_FLOAT32_INFINITY, size), size)
    code = choose(not_a_number, lit(layout.nan, code), code)
    if layout.unsigned_zero:
        sign = choose(is_equal(code, 0) | not_a_number, lit(0, sign), sign)
    return (code | shift_left(sign, layout.sign_shift)).cast(layout.unsigned)
