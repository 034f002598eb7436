"""Rotations of neighbouring rows or columns, the step of Jacobi's methods.

A round rotates every pair of neighbours at once and exchanges them; rounds start at the first and
at the second row by turns, so that after as many rounds as there are rows every pair has met
(the odd-even ordering; Luk and Park, "On parallel Jacobi orderings", 1989). All rounds of a kind
are the same program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.linalg.matrices import positions

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

SWEEPS = {32: 8, 64: 10}
"""How often every pair meets, by the width of the dtype; convergence is quadratic."""


def steps(size: int, bits: int) -> int:
    """Return how many steps of two rounds make the rows (or columns) converge."""
    return SWEEPS[bits] * ((size + 1) // 2) if size > 1 else 0


def partner(x: Tensor, start: int, axis: int) -> Tensor:
    """Return the values of the neighbour in the pair; 0 for one that is in no pair.

    Args:
        x: the array.
        start: where the first pair is.
        axis: the axis that the pairs lie along, negative.
    """
    size = x._int_shape()[axis]
    pairs = (size - start) // 2
    place = x.ndim + axis
    keep: list[tuple[int, int] | None] = [None] * x.ndim
    keep[place] = (start, start + 2 * pairs)
    inner = x.shrink(keep)
    swapped = inner.unflatten(place, (pairs, 2)).flip(place + 1).reshape(inner.shape)
    grow = [(0, 0)] * x.ndim
    grow[place] = (start, size - start - 2 * pairs)
    return swapped.pad(grow)


def angles(own: Tensor, other: Tensor, shared: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Return what a value and its neighbour are multiplied with to rotate and exchange them.

    The rotation makes the symmetric matrix ((own, shared), (shared, other)) diagonal. Seen from
    the neighbour its sine has the other sign, which the formula gives by itself.

    Args:
        own: the diagonal elements, along the last axis.
        other: those of the neighbours.
        shared: the elements beside the diagonal.
        start: where the first pair is.
    """
    size = own._int_shape()[-1]
    place = positions(size, -1).reshape((size,))
    is_first = (place & 1).eq(start)
    alone = (place < start) | (place >= start + (size - start) // 2 * 2)
    done = shared.eq(0.0)
    ratio = (other - own) / done.where(1.0, 2.0 * shared)
    length = 1.0 / (ratio.abs() + (ratio.square() + 1.0).sqrt())
    negative = (ratio < 0.0) | (ratio.eq(0.0) & is_first.logical_not())
    tangent = done.where(0.0, negative.where(-length, length))
    cosine = (tangent.square() + 1.0).rsqrt()
    return alone.where(1.0, cosine * tangent), alone.where(0.0, cosine)
