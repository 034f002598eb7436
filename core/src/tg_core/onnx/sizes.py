"""Sizes of tensors where an operator needs numbers, not symbols."""

from __future__ import annotations

from collections.abc import Iterable

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.sizes import static_size

__all__ = ["check_count", "size_of", "sizes_of"]

MAX_COUNT = 1 << 24
"""How many numbers may be computed while the graph is built, for one operator."""


def check_count(count: int, what: str) -> None:
    """Check that so many numbers may be computed while the graph is built.

    Raises:
        ShapeError: they are too many; a small file can ask for more than any memory holds.
    """
    if count > MAX_COUNT:
        raise ShapeError(f"{what} needs {count} numbers, at most {MAX_COUNT} are supported")


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
