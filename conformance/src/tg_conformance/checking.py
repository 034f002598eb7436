"""Assertions on results: dtype, then shape, then values; every message names the case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg_conformance.oracles.ulp import ulp_error
from tg_conformance.oracles.values import FLOATS, values_of

if TYPE_CHECKING:
    from tg_core import Tensor

__all__ = ["check_exact", "check_form", "check_within"]

Array = np.ndarray[Any, Any]


def check_form(what: str, tensor: Tensor, dtype: str, shape: tuple[int, ...]) -> None:
    """Check dtype and shape of a tensor."""
    assert tensor.dtype.name == dtype, f"{what}: dtype {tensor.dtype.name}, expected {dtype}"
    assert tensor.shape == shape, f"{what}: shape {tensor.shape}, expected {shape}"


def check_exact(what: str, cells: Array, wanted: Array, dtype: str, *operands: Array) -> None:
    """Check cells against wanted ones bit for bit; a NaN is any NaN.

    Args:
        what: name of the case.
        cells: what the device gave.
        wanted: what the oracle gives, as cells.
        dtype: of both.
        operands: values that led there, shown for the first mistake.
    """
    assert cells.shape == wanted.shape, f"{what}: shape {cells.shape}, expected {wanted.shape}"
    unsigned = np.dtype(f"u{cells.dtype.itemsize}")
    wrong = cells.view(unsigned) != wanted.astype(cells.dtype).view(unsigned)
    got, want = values_of(cells, dtype), values_of(wanted.astype(cells.dtype), dtype)
    if dtype in FLOATS:
        wrong &= ~(np.isnan(got) & np.isnan(want))
    assert not wrong.any(), describe(what, wrong, got, want, operands)


def check_within(
    what: str, cells: Array, exact: Array, dtype: str, bound: float, *operands: Array
) -> float:
    """Check results against exact ones, in units in the last place.

    Returns:
        The largest error found.
    """
    assert cells.shape == exact.shape, f"{what}: shape {cells.shape}, expected {exact.shape}"
    got = values_of(cells, dtype)
    errors = ulp_error(got, exact, dtype)
    wrong = errors > bound
    note = f", {float(errors.max()):.3g} ulp from it where {bound:g} are allowed"
    assert not wrong.any(), describe(what, wrong, got, exact, operands, note)
    return float(errors.max()) if errors.size else 0.0


def describe(
    what: str, wrong: Array, got: Array, want: Array, operands: tuple[Array, ...], note: str = ""
) -> str:
    """Return the message for wrong elements: how many, and the first in full."""
    place = np.unravel_index(int(np.flatnonzero(wrong)[0]), wrong.shape)
    given = ", ".join(str(x[place]) for x in operands if x.shape == wrong.shape)
    index = place[0] if len(place) == 1 else tuple(int(p) for p in place)
    count = int(wrong.sum())
    inputs = f" of ({given})" if given else ""
    return (
        f"{what}: {count} of {wrong.size} elements are wrong, the first at {index}: "
        f"got {got[place]!s}{inputs}, expected {want[place]!s}{note}"
    )
