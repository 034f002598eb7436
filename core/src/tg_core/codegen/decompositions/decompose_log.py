"""LOG2 times log(2) or log10(2), which is how the front end writes other logarithms: within 1 ulp
over the whole range, subnormals included.

The roundings of the binary logarithm and of the product would cost 2 ulp. The exponent is
multiplied by the constant in two parts instead, the first exactly, and the logarithm of the
mantissa, a sum of two as well, is scaled where the base is not e.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from tg_core.codegen.decompositions.decompose_log2 import logarithm_parts, settle_log2
from tg_core.codegen.decompositions.utils import LAYOUTS, lit
from tg_core.dtype import dtypes, truncate
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat


@dataclass(frozen=True)
class _Base:
    """The constants of a base, each a short number and the rest (computed with 70 digits)."""

    of_two: tuple[float, float]
    """The logarithm of 2, whose short part times any exponent is exact."""
    of_e: tuple[float, float] | None
    """The logarithm of e, None for 1."""


_BASES: Final = {
    (dtypes.float32, math.log(2)): _Base((22713 / 2**15, 1.428606765330187e-06), None),
    (dtypes.float64, math.log(2)): _Base(
        (381061692393 / 2**39, -1.7239444525614835e-13), None
    ),
    (dtypes.float32, math.log10(2)): _Base(
        (1233 / 2**12, 4.605039066518657e-06), (1779 / 2**12, -3.168997136526741e-05)
    ),
    (dtypes.float64, math.log10(2)): _Base(
        (165492990271 / 2**39, -8.532344317057107e-14),
        (1821563 / 2**22, 1.9699272335463627e-08),
    ),
}  # fmt: skip


def _base_of(factor: UOp, x: UOp) -> tuple[_Base, float] | None:
    """Return the base that a factor of a binary logarithm makes, and the factor's sign."""
    value = factor.const_value
    if not isinstance(value, float):
        return None
    for (dtype, constant), base in _BASES.items():
        if dtype is x.dtype and abs(value) == truncate(constant, dtype):
            return base, math.copysign(1.0, value)
    return None


def decompose_log(x: UOp, factor: UOp) -> UOp | None:
    """`LOG2(x) * f -> log(x)` for f the rounded log(2) or log10(2), or the negative of one."""
    found = _base_of(factor, x)
    if found is None:
        return None
    base, sign = found
    exponent, high, low = logarithm_parts(x)
    if base.of_e is not None:
        head, tail = (lit(part, x) for part in base.of_e)
        high, low = high * head, (low + high) * tail + low * head
    whole = exponent * lit(base.of_two[0], x)
    total = whole + high
    low = low + (exponent * lit(base.of_two[1], x) + ((whole - total) + high))
    return settle_log2(x, low + total) * lit(sign, x)


_X = UPat.var("x", dtype=tuple(LAYOUTS))
rules = PatternMatcher([(UPat(Ops.LOG2, (_X,)) * UPat.cvar("factor"), decompose_log)])
