"""Narrow floats that numpy lacks: vectorised encoding and decoding, and multiply-add rounded once.

Values travel as float32 or float64 arrays; a *code* is the bit pattern that storage holds (uint16
for bfloat16, uint8 for the 8-bit formats). Encoding rounds to nearest, ties to even, once, whatever
the width of the source. The 8-bit formats saturate: what lies beyond the largest finite value,
infinities included, becomes that value with its sign; NaN stays NaN.

| format | sign, exponent, mantissa | bias | infinity | NaN | largest | source |
|---|---|---|---|---|---|---|
| `bfloat16` | 1, 8, 7 | 127 | yes | yes | 3.39e38 | the upper half of IEEE 754 binary32 |
| `fp8e4m3` | 1, 4, 3 | 7 | no | 0x7F, 0xFF | 448 | OCP 8-bit floating point specification 1.0 |
| `fp8e5m2` | 1, 5, 2 | 15 | yes | yes | 57344 | the same |
| `fp8e4m3fnuz` | 1, 4, 3 | 8 | no | 0x80 | 240 | Noune et al., arXiv 2206.02915 |
| `fp8e5m2fnuz` | 1, 5, 2 | 16 | no | 0x80 | 57344 | the same |

The `fnuz` formats have no negative zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"


@dataclass(frozen=True)
class Fp8Format:
    """Layout of an 8-bit float."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    nan: int
    """The code NaN is encoded to, without sign."""
    largest: int
    """Code of the largest finite value."""
    has_infinity: bool
    unsigned_zero: bool
    """True where 0x80 is the only NaN and zero has no sign."""


FP8_FORMATS = {
    "fp8e4m3": Fp8Format(4, 3, 7, 0x7F, 0x7E, False, False),
    "fp8e5m2": Fp8Format(5, 2, 15, 0x7E, 0x7B, True, False),
    "fp8e4m3fnuz": Fp8Format(4, 3, 8, 0x80, 0x7F, False, True),
    "fp8e5m2fnuz": Fp8Format(5, 2, 16, 0x80, 0x7F, False, True),
}
"""The 8-bit formats by dtype name."""

NARROW_FLOATS = frozenset(("bfloat16", *FP8_FORMATS))
"""Names of the dtypes this module encodes and decodes."""


_QUIET, _NEGATIVE = 0x7FC00000, 0x80000000
"""The bits of a float32: a quiet NaN, and the sign."""


@cache
def _fp8_values(name: str) -> NDArray[np.float32]:
    """Return the value of each of the 256 codes; the last bits of a NaN are its code."""
    layout = FP8_FORMATS[name]
    values = np.zeros(256, np.float32)
    for code in range(128):
        exponent = code >> layout.mantissa_bits
        mantissa = code & ((1 << layout.mantissa_bits) - 1)
        if exponent:
            mantissa += 1 << layout.mantissa_bits
        value = np.ldexp(float(mantissa), max(exponent, 1) - layout.bias - layout.mantissa_bits)
        if code > layout.largest:
            value = np.float64(np.inf)
        values[code] = value
        values[code | 0x80] = -value
    bits = values.view(np.uint32)
    for code in range(layout.largest + (2 if layout.has_infinity else 1), 128):
        bits[code], bits[code | 0x80] = _QUIET | code, _NEGATIVE | _QUIET | code
    if layout.unsigned_zero:
        values[0x80] = np.nan
    return values


@cache
def _fp8_midpoints(name: str) -> NDArray[np.float64]:
    """Return the midpoints between neighbouring non-negative finite values; exact in float64."""
    finite = _fp8_values(name)[: FP8_FORMATS[name].largest + 1].astype(np.float64)
    return (finite[:-1] + finite[1:]) / 2


def _encode_fp8(values: Array, name: str) -> NDArray[np.uint8]:
    layout = FP8_FORMATS[name]
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    magnitude = np.abs(wide)
    midpoints = _fp8_midpoints(name)
    # the codes of non-negative values are consecutive, so the count of midpoints below is the code,
    # and an even code has an even mantissa
    code = np.searchsorted(midpoints, magnitude, side="left")
    tie = midpoints[np.minimum(code, len(midpoints) - 1)] == magnitude
    code += tie & (code < len(midpoints)) & (code & 1 == 1)
    sign = np.signbit(wide)
    if layout.unsigned_zero:
        sign = sign & (code != 0)
    code = np.where(np.isnan(wide), layout.nan, code | np.where(sign, 0x80, 0))
    return code.astype(np.uint8)


def round_to_odd(values: Array) -> NDArray[np.float32]:
    """Return float64 values as float32, inexact ones as the neighbour with an odd last bit.

    Rounding that result once more to at most 22 bits gives what one rounding of the float64 value
    gives.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    bits = nearest.view(np.uint32)
    away = np.abs(back) > np.abs(values)
    inexact = (back != values) & ~np.isnan(values)
    odd: NDArray[np.uint32] = ((bits - away.astype(np.uint32)) | inexact).astype(np.uint32)
    return odd.view(np.float32)


def _encode_bfloat16(values: Array) -> NDArray[np.uint16]:
    narrow = round_to_odd(values) if values.dtype == np.float64 else values.astype(np.float32)
    bits = narrow.view(np.uint32)
    # adding just below half, plus one for an odd last bit, carries exactly where nearest-even
    # rounds up
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(narrow), quiet, rounded).astype(np.uint16)


def encode(values: Array, name: str) -> Array:
    """Round values to a narrow format and return the codes.

    Args:
        values: float32 or float64 of any shape.
        name: one of `NARROW_FLOATS`.

    Returns:
        uint16 codes for bfloat16, uint8 codes for the others.
    """
    if name == "bfloat16":
        return _encode_bfloat16(np.asarray(values))
    return _encode_fp8(np.asarray(values), name)


def to_codes(values: NDArray[np.float32], name: str) -> Array:
    """Return the codes of values that a narrow format holds, as `decode` gives them: nothing is
    rounded, infinities stay infinite, and a NaN keeps its code.

    Args:
        values: float32 of any shape; other NaNs become that of `encode`.
        name: one of `NARROW_FLOATS`.
    """
    bits = values.view(np.uint32)
    if name == "bfloat16":
        upper = (bits >> 16).astype(np.uint16)
        # a NaN that has all its bits below
        lost = np.isnan(values) & (upper & np.uint16(0x7F) == 0)
        return upper | np.where(lost, np.uint16(0x40), np.uint16(0))
    layout, codes = FP8_FORMATS[name], _encode_fp8(values, name)
    sign = (bits >> 31 << 7).astype(np.uint8)
    if layout.has_infinity:
        codes = np.where(np.isinf(values), np.uint8(layout.largest + 1) | sign, codes)
    payload = (bits & 0x7F).astype(np.uint8)
    own = np.isnan(values) & (payload > layout.largest + layout.has_infinity)
    return np.where(own, payload | sign, codes)


def decode(codes: Array, name: str) -> NDArray[np.float32]:
    """Return the exact float32 values of codes.

    Args:
        codes: uint16 for bfloat16, uint8 for the others; any shape.
        name: one of `NARROW_FLOATS`.
    """
    if name == "bfloat16":
        bits: NDArray[np.uint32] = np.asarray(codes).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    values: NDArray[np.float32] = _fp8_values(name)[np.asarray(codes)]
    return values


def round_narrow(values: Array, name: str) -> NDArray[np.float32]:
    """Return values rounded to a narrow format, as float32."""
    return decode(encode(values, name), name)


def integer_to_float(values: Array) -> NDArray[np.float64]:
    """Return integers as float64, rounded to odd, so that a later narrowing rounds once."""
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    eleven = values.dtype.type(11)
    low = values & values.dtype.type(0x7FF)
    sticky = ((values >> eleven) | (low != 0).astype(values.dtype)) << eleven
    top = values >> values.dtype.type(53)
    narrow = (top == 0) | (top == -1 if values.dtype.kind == "i" else False)
    return np.where(narrow, values, sticky).astype(np.float64)


def _exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its exact error (Knuth's TwoSum)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _odd_sum(a: Array, b: Array) -> Array:
    """Return the float64 sum rounded to odd."""
    total, error = _exact_sum(a, b)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    toward = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(even & (error != 0) & np.isfinite(total), toward, total)


def _split(a: Array) -> tuple[Array, Array]:
    """Split float64 into two halves of at most 26 bits (Veltkamp)."""
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _fma_double(a: Array, b: Array, c: Array) -> Array:
    """Return `a*b + c` rounded once (Boldo and Melquiond, "Emulation of FMA", 2008)."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    product_error = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    upper, lower = _exact_sum(c, product_error)
    total, rest = _exact_sum(product, upper)
    result = total + _odd_sum(rest, lower)
    plain = product + c
    # where a factor, the product or the sum leaves the comfortable middle of the exponent range,
    # exact fractions decide
    sizes = np.abs(np.stack(np.broadcast_arrays(a, b, product, c)))
    nonzero = (sizes[0] != 0) & (sizes[1] != 0)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    calm = (sizes < 2.0**990).all(0) & (sizes[2] > 2.0**-900)
    calm &= (sizes[3] == 0) | (sizes[3] > 2.0**-900)
    result = np.where(calm & nonzero & finite, result, plain)
    wild = np.nonzero(finite & nonzero & ~calm)
    if wild[0].size:
        from fractions import Fraction

        a, b, c = (np.broadcast_to(x, result.shape) for x in (a, b, c))
        for at in zip(*wild, strict=True):
            exact = Fraction(float(a[at])) * Fraction(float(b[at])) + Fraction(float(c[at]))
            try:
                result[at] = float(exact) if exact else plain[at]
            except OverflowError:
                result[at] = np.inf if exact > 0 else -np.inf
    return result


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return `a*b + c` with one rounding.

    Args:
        a: float64, or values of a narrower format held in float32 or float16.
        b: of a's dtype.
        c: of a's dtype.

    Returns:
        float64; for narrower arguments a float64 that rounds to any format of at most 25 bits as
        the exact value does.
    """
    with np.errstate(all="ignore"):
        if a.dtype == np.float64:
            return _fma_double(a, b, c)
        # the product of two 24-bit significands is exact in float64
        return _odd_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
