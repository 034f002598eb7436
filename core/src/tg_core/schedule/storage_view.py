"""Flat storage as a value of a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.uop.ops import Ops
from tg_core.uop.shapes import sint_max, sint_prod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.ops import UOp, sint

__all__ = ["greatest_numel", "storage_view"]


def storage_view(storage: UOp, shape: Sequence[sint]) -> UOp:
    """Return flat storage as a value of a shape; symbolic sizes take their part of the greatest
    shape.
    """
    greatest = tuple(sint_max(s) for s in shape)
    view = storage if greatest == storage.shape else storage._movement(Ops.RESHAPE, greatest)
    if greatest != tuple(shape):
        view = view._movement(Ops.SHRINK, tuple((0, s) for s in shape))
    return view


def greatest_numel(shape: Sequence[sint]) -> int:
    """Return how many elements storage for a shape needs."""
    return int(sint_prod([sint_max(s) for s in shape]))  # type: ignore[arg-type]  # all are ints
