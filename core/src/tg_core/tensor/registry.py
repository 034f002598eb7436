"""The tensors that are alive, held weakly, in the order they were made."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

_serial = itertools.count()
_live: dict[int, _Entry] = {}


class _Entry(weakref.ref["Tensor"]):
    """A weak reference that knows its place in the table."""

    __slots__ = ("serial",)
    serial: int


def _forget(entry: _Entry, table: dict[int, _Entry] = _live) -> None:
    table.pop(entry.serial, None)


def register(tensor: Tensor) -> None:
    """Add a new tensor to the table."""
    entry = _Entry(tensor, _forget)
    entry.serial = next(_serial)
    _live[entry.serial] = entry


def live_tensors() -> list[Tensor]:
    """Return the live tensors, oldest first."""
    found = (entry() for entry in list(_live.values()))
    return [tensor for tensor in found if tensor is not None]
