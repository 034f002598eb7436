"""Windows into memory that a device looks at too, as arrays of words."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Form", "MMIOView", "WordView", "width_of"]

Form: TypeAlias = Literal["B", "H", "I", "Q"]
"""Unsigned words of 1, 2, 4 and 8 bytes."""

_WIDTHS: dict[str, int] = {"B": 1, "H": 2, "I": 4, "Q": 8}


def width_of(form: Form) -> int:
    """Return the bytes of a word."""
    return _WIDTHS[form]


class WordView(Protocol):
    """Words of one format, in memory or in registers."""

    @property
    def nbytes(self) -> int:
        """Length in bytes."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> int: ...

    def __setitem__(self, index: int, value: int) -> None: ...

    def read(self, start: int, stop: int) -> list[int]:
        """Return the words of a range."""
        ...

    def view(self, offset: int, nbytes: int, form: Form) -> Self:
        """Return a part, from byte `offset` on, as words of another format."""
        ...


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

    @staticmethod
    def at(address: int, nbytes: int, form: Form = "B") -> MMIOView:
        """Return a view of memory that something else keeps mapped."""
        block = (ctypes.c_uint8 * nbytes).from_address(address)
        return MMIOView(memoryview(block), form)

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
