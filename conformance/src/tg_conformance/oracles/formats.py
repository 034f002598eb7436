"""Floating-point formats, from the definition of each: every value a code stands for, and the code
a value rounds to.

Sources: IEEE 754-2019 (binary16), Google's description of bfloat16, OCP 8-bit Floating Point
Specification 1.0 (e4m3, e5m2), and Noune et al., "8-bit Numerical Formats for Deep Neural
Networks", 2022 (the `fnuz` variants).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["FORMATS", "FloatFormat"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Codes = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class FloatFormat:
    """A format of at most 16 bits."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: str
    """What the largest exponent means: `ieee` (infinity, NaN), `nan` (NaN where all bits of the
    mantissa are set), or `fnuz` (nothing; the only NaN is the code of minus zero)."""
    saturates: bool
    """Whether what is too large becomes the largest finite value instead of infinity."""

    @property
    def bits(self) -> int:
        """Width of a code."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def code_type(self) -> np.dtype[Any]:
        """The unsigned integer that holds a code."""
        return np.dtype(np.uint16 if self.bits == 16 else np.uint8)

    def decode_one(self, code: int) -> float:
        """Return the value of a code, from the definition."""
        sign = -1.0 if code >> (self.bits - 1) else 1.0
        exponent = (code >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1)
        mantissa = code & ((1 << self.mantissa_bits) - 1)
        top = exponent == (1 << self.exponent_bits) - 1
        if self.special == "ieee" and top:
            return float("nan") if mantissa else sign * float("inf")
        if self.special == "nan" and top and mantissa == (1 << self.mantissa_bits) - 1:
            return float("nan")
        if self.special == "fnuz" and code == 1 << (self.bits - 1):
            return float("nan")
        fraction: float = mantissa * 2.0**-self.mantissa_bits
        if exponent == 0:
            return sign * fraction * 2.0 ** (1 - self.bias)
        return float(sign * (1.0 + fraction) * 2.0 ** (exponent - self.bias))

    @cached_property
    def table(self) -> Floats:
        """The value of every code."""
        return np.array([self.decode_one(code) for code in range(1 << self.bits)], np.float64)

    @cached_property
    def _ladder(self) -> tuple[Floats, int]:
        """The finite values from zero up by code, and how many there are."""
        half = self.table[: 1 << (self.bits - 1)]
        count = int(np.isfinite(half).sum())
        return half[:count], count

    def decode(self, codes: np.ndarray[Any, Any]) -> Floats:
        """Return the values of codes."""
        found: Floats = self.table[codes.astype(np.int64)]
        return found

    def encode(self, values: Any) -> np.ndarray[Any, Any]:
        """Return the codes that values round to: to nearest, ties to the even code."""
        given: Floats = np.asarray(values, np.float64)
        ladder, count = self._ladder
        size = np.abs(np.where(np.isnan(given), 0.0, given))
        above = np.clip(np.searchsorted(ladder, size, side="left"), 1, count - 1)
        lower, upper = ladder[above - 1], ladder[above]
        # halves of neighbours are exact in double precision
        middle = lower / 2 + upper / 2
        even = (above - 1) % 2 == 0
        down = (size < middle) | ((size == middle) & even)
        code = np.where(down, above - 1, above)
        code = np.where(size == 0, 0, code)
        code = np.where(size > ladder[-1], self._beyond(size), code)
        negative = np.signbit(given)
        if self.special == "fnuz":
            negative = negative & (code != 0)
        code = np.where(negative, code | (1 << (self.bits - 1)), code)
        return np.where(np.isnan(given), self._nan, code).astype(self.code_type)

    def _beyond(self, size: Floats) -> Codes:
        """Return the codes of magnitudes above the largest finite value."""
        ladder, count = self._ladder
        if self.saturates:
            return np.full(size.shape, count - 1, np.int64)
        limit = ladder[-1] + (ladder[-1] - ladder[-2]) / 2
        return np.where(size < limit, count - 1, count).astype(np.int64)

    @cached_property
    def _nan(self) -> int:
        return int(np.flatnonzero(np.isnan(self.table))[-1 if self.special == "fnuz" else 0])

    def round(self, values: Any) -> Floats:
        """Return the values of the format that values round to."""
        return self.decode(self.encode(values))


FORMATS = {
    form.name: form
    for form in (
        FloatFormat("fp8e4m3", 4, 3, 7, "nan", True),
        FloatFormat("fp8e5m2", 5, 2, 15, "ieee", True),
        FloatFormat("fp8e4m3fnuz", 4, 3, 8, "fnuz", True),
        FloatFormat("fp8e5m2fnuz", 5, 2, 16, "fnuz", True),
        FloatFormat("float16", 5, 10, 15, "ieee", False),
        FloatFormat("bfloat16", 8, 7, 127, "ieee", False),
    )
}
"""The formats by the name of their dtype."""
