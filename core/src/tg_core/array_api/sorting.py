"""Order along an axis. NaN is greater than every number; equal values keep their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of, fresh

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the positions along an axis that put the values in order; always stable."""
    return array_of(x, "argsort").argsort(axis, descending)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the values along an axis in order; always stable."""
    value = array_of(x, "sort")
    return fresh(value.sort(axis, descending)[0], value)
