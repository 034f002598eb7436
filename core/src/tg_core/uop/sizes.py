"""Sizes that have to be numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import ShapeError

if TYPE_CHECKING:
    from tg_core.uop.uop import sint

__all__ = ["static_size"]


def static_size(size: sint, where: str = "shape") -> int:
    """Return a size as a number.

    Args:
        size: a size, a number already where the caller's rules hold.
        where: the operation that needs it, for the error.

    Returns:
        The size in elements.

    Raises:
        ShapeError: the size is symbolic.
    """
    if isinstance(size, int):
        return size
    raise ShapeError(f"{where}: needs a size that is known, found the symbolic {size}")
