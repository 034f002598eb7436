"""The tensors that are alive, held weakly, in the order they were made."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

_serial = itertools.count()
_live: dict[int, _Entry] = {}


class _LiveLock:
    """A reentrant lock that is free in a forked child, whatever threads held it in the parent."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc: object) -> None:
        self._lock.release()


live_lock = _LiveLock()
"""Held by what changes the nodes of tensors other than its own: writes and realizations."""


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


def serial_mark() -> int:
    """Return a number above those of the tensors there are and below those of tensors to come."""
    return next(_serial)


def live_before(mark: int) -> list[Tensor]:
    """Return the live tensors that are older than a mark, oldest first."""
    found = (entry() for entry in list(_live.values()) if entry.serial < mark)
    return [tensor for tensor in found if tensor is not None]


def live_since(mark: int) -> list[Tensor]:
    """Return the live tensors that are younger than a mark, youngest first. Takes time for those
    only.
    """
    newer: list[_Entry] = []
    try:
        for entry in reversed(_live.values()):
            if entry.serial < mark:
                break
            newer.append(entry)
    except RuntimeError:
        # another thread made or dropped a tensor meanwhile
        newer = [entry for entry in list(_live.values()) if entry.serial >= mark]
    found = (entry() for entry in newer)
    return [tensor for tensor in found if tensor is not None]


class _Changes:
    """When tensors last got nodes that are no results of work on what they stood for."""

    last = next(_serial)


def note_change() -> None:
    """Note that tensors get other nodes, by writes or by being bound to other values. The caller
    holds `live_lock` until they have them.
    """
    # a number of its own for each, so that none is taken for an earlier one
    _Changes.last = next(_serial)


def changes() -> int:
    """Return a number that differs from an earlier one if tensors got other nodes meanwhile, but
    for those that were computed.
    """
    return _Changes.last
