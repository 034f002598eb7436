"""Sums and products of floats with their rounding errors, as unevaluated pairs.

Source of the error-free transformations:
    Dekker, "A floating-point technique for extending the available precision", Numerische
    Mathematik 18, 1971.
"""

from __future__ import annotations

from typing import Final

from tg_core.codegen.decompositions.utils import lit, multiply_add
from tg_core.dtype import dtypes
from tg_core.uop.ops import UOp

# Dekker's splitting constant: 2^ceil(p/2) + 1
_SPLITTER: Final = {dtypes.float32: 4097.0, dtypes.float64: 134217729.0}

Pair = tuple[UOp, UOp]


def quick_sum(a: UOp, b: UOp) -> Pair:
    """Return `a + b` as (rounded, error); needs `|a| >= |b|`."""
    total = a + b
    return total, b - (total - a)


def exact_sum(a: UOp, b: UOp) -> Pair:
    """Return `a + b` as (rounded, error)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _split(a: UOp) -> Pair:
    scaled = a * lit(_SPLITTER[a.dtype], a)
    high = scaled - (scaled - a)
    return high, a - high


def exact_product(a: UOp, b: UOp) -> Pair:
    """Return `a * b` as (rounded, error)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def fused_product(a: UOp, b: UOp) -> Pair:
    """Return `a * b` as (rounded, error), on targets whose MULACC rounds once."""
    product = a * b
    return product, multiply_add(a, b, product * lit(-1.0, product))


def pair_quotient(a: Pair, b: Pair, fused: bool) -> UOp:
    """Return `a / b` of unevaluated sums, rounded once but for about 2^-(2 * mantissa bits).

    Holds where neither the inverse of the divisor nor a product overflows or underflows.

    Args:
        a: the dividend.
        b: the divisor, not zero.
        fused: the target has a MULACC that rounds once.
    """
    product = fused_product if fused else exact_product
    inverse = lit(1.0, b[0]) / b[0]
    quotient = a[0] * inverse
    back, error = product(quotient, b[0])
    rest = ((a[0] - back) - error) + (a[1] - quotient * b[1])
    return quotient + rest * inverse
