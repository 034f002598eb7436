"""Sizes of tensors where an operator needs numbers, not symbols."""

from __future__ import annotations

from collections.abc import Iterable

from tg_core.tensor import Tensor
from tg_core.uop.sizes import static_size

__all__ = ["size_of", "sizes_of"]


def sizes_of(x: Tensor) -> tuple[int, ...]:
    """Return the shape as numbers.

    Raises:
        ShapeError: a size is symbolic.
    """
    sizes: Iterable[int] = (static_size(size) for size in x.shape)
    return tuple(sizes)


def size_of(x: Tensor, axis: int) -> int:
    """Return the size of an axis as a number.

    Raises:
        ShapeError: it is symbolic.
    """
    return static_size(x.shape[axis])
