"""Distances in units in the last place: how far a result is from the exact one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_conformance.oracles.formats import FORMATS

__all__ = ["EPSILON_BITS", "spacing", "ulp_error"]

Array = np.ndarray[Any, Any]

_WIDE = {"float32": (23, -126, 2.0**128 * (1 - 2.0**-24)), "float64": (52, -1022, np.inf)}

EPSILON_BITS = {
    **{name: form.mantissa_bits for name, form in FORMATS.items()},
    "float32": 23,
    "float64": 52,
}
"""Bits of the mantissa that are stored, by dtype."""


def spacing(exact: Array, dtype: str) -> Array:
    """Return the distance of neighbouring values of a dtype at each value."""
    if dtype in FORMATS:
        form = FORMATS[dtype]
        least = 1 - form.bias
        bits = form.mantissa_bits
    else:
        bits, least, _ = _WIDE[dtype]
    _, exponent = np.frexp(np.where(np.isfinite(exact), exact, 1))
    distance: Array = np.ldexp(np.ones_like(exact), np.maximum(exponent - 1, least) - bits)
    return distance


def largest(dtype: str) -> float:
    """Return the largest finite value of a dtype."""
    if dtype in FORMATS:
        table = FORMATS[dtype].table
        return float(table[np.isfinite(table)].max())
    return float(np.finfo(dtype).max)


def ulp_error(got: Array, exact: Array, dtype: str) -> Array:
    """Return the error of results in units in the last place.

    Args:
        got: results in double precision.
        exact: what they should be, in more than the precision of the dtype.
        dtype: the dtype of the results.

    Returns:
        0 where both are NaN, or the result is what a value out of range becomes; infinity where
        one of the two is NaN or out of range and the other is not.
    """
    top = largest(dtype)
    with np.errstate(all="ignore"):
        exact = np.asarray(exact, np.longdouble)
        got = np.asarray(got).astype(np.longdouble)
        error = np.abs(got - exact) / spacing(exact, dtype)
        nan, wanted_nan = np.isnan(got), np.isnan(exact)
        # above the largest value by half a step is where rounding leaves the format
        near_top = np.abs(exact) > top * (1 - 2.0 ** -EPSILON_BITS[dtype])
        beyond = np.abs(exact) > top
        saturated = np.isinf(got) | (np.abs(got) == top)
        fine = beyond & saturated & (np.signbit(got) == np.signbit(exact))
        fine |= near_top & np.isinf(got) & (np.signbit(got) == np.signbit(exact))
        error = np.where(fine, 0, error)
        error = np.where(np.isinf(got) & ~np.isinf(exact) & ~fine, np.inf, error)
        return np.where(nan & wanted_nan, 0, np.where(nan != wanted_nan, np.inf, error))
