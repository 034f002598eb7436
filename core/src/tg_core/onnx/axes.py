"""Axes as models give them: counted from the front, or from the end when negative."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.errors import ShapeError

__all__ = ["place_of", "places_of"]


def place_of(axis: int, ndim: int) -> int:
    """Return an axis counted from the front.

    Args:
        axis: what the model says.
        ndim: how many axes, or places for one, there are.

    Raises:
        ShapeError: there is no such axis.
    """
    if not -ndim <= axis < ndim:
        raise ShapeError(f"axis {axis} of {ndim}, expected {-ndim} to {ndim - 1}")
    return axis + ndim if axis < 0 else axis


def places_of(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return several axes counted from the front.

    Raises:
        ShapeError: one does not exist, or two are the same.
    """
    places = tuple(place_of(axis, ndim) for axis in axes)
    if len(set(places)) != len(places):
        raise ShapeError(f"axes {tuple(axes)} are not distinct")
    return places
