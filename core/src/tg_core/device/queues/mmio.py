"""A window into memory that the device looks at too, as an array of words."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

__all__ = ["MMIOView"]

Form: TypeAlias = Literal["B", "H", "I", "Q"]
"""Unsigned words of 1, 2, 4 and 8 bytes."""


class MMIOView:
    """Words of one format at an address of this process.

    Args:
        data: the bytes; the view keeps them alive.
        form: a `struct` format character.
    """

    __slots__ = ("_cells", "form")

    def __init__(self, data: memoryview, form: Form = "B") -> None:
        self._cells = data.cast("B") if form == "B" else data.cast("B").cast(form)
        self.form = form

    @property
    def address(self) -> int:
        """Where the first word is, in this process."""
        return int(np.frombuffer(self._cells, np.uint8).ctypes.data)

    @property
    def nbytes(self) -> int:
        """Length in bytes."""
        return self._cells.nbytes

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, index: int) -> int:
        return int(self._cells[index])

    def __setitem__(self, index: int, value: int) -> None:
        self._cells[index] = value

    def read(self, start: int, stop: int) -> list[int]:
        """Return the words of a range."""
        return self._cells[start:stop].tolist()

    def view(self, offset: int, nbytes: int, form: Form) -> MMIOView:
        """Return a part, from byte `offset` on, as words of another format."""
        return MMIOView(self._cells.cast("B")[offset : offset + nbytes], form)
