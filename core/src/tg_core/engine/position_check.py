"""Checking positions that were computed (`CHECK_INDEX=1`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg_core.errors import IndexingError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["PositionCheck"]


class PositionCheck(NamedTuple):
    """Positions in storage that must be in range."""

    storage: Any
    """A BUFFER node, or what a replay has in its place."""
    shape: tuple[int, ...]
    name: str
    """The operation that uses them."""
    axis: int
    size: int
    """Of the axis."""

    def check(self, values: np.ndarray[Any, Any]) -> None:
        """Look at the positions.

        Raises:
            IndexingError: one is not in [-size, size).
        """
        import numpy as np

        values = values.reshape(self.shape)
        outside = np.argwhere((values < -self.size) | (values >= self.size))
        if len(outside):
            place = tuple(int(entry) for entry in outside[0])
            raise IndexingError(
                f"{self.name}: index value {values[place]} at position {place} is out of range for "
                f"axis {self.axis} of size {self.size}"
            )
