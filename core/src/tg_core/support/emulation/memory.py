"""The address space of an emulated device: what is mapped where, and with which rights."""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from typing import Any, TypeAlias

import numpy as np

from tg_core.support.emulation.faults import AccessFault, EmulationFault

__all__ = ["AddressSpace", "Bytes", "Mapping", "Rights"]

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]


class Rights(enum.Flag):
    """What a device may do to a mapping."""

    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE


class Mapping:
    """A range of addresses and the bytes behind it.

    Every access of a device looks at one, so what it needs is worked out once.

    Args:
        start: the first address.
        cells: the bytes.
        rights: what the device may do.
        label: what it is, for messages.
    """

    __slots__ = ("allowed", "cells", "end", "label", "place", "start", "view")

    def __init__(self, start: int, cells: Bytes, rights: Rights, label: str) -> None:
        self.start, self.cells, self.label = start, cells, label
        self.end = start + cells.nbytes
        self.allowed = tuple(r for r in (Rights.READ, Rights.WRITE, Rights.BOTH) if r in rights)
        self.place = int(cells.ctypes.data)
        """The address in this process, which aliases have in common."""
        self.view = cells.data


class AddressSpace:
    """Mappings that do not overlap. Every access names its length and right, and is checked.

    Args:
        name: of the device, for messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._starts: list[int] = []
        self._mappings: list[Mapping] = []

    def map(self, start: int, cells: Bytes, rights: Rights, label: str) -> None:
        """Map bytes.

        Args:
            start: the first address.
            cells: the bytes; kept alive while mapped.
            rights: what the device may do.
            label: what it is, for messages.

        Raises:
            EmulationFault: an address is taken.
        """
        at = bisect_right(self._starts, start)
        before = self._mappings[at - 1] if at else None
        after = self._mappings[at] if at < len(self._mappings) else None
        for other in (before, after):
            if other and start < other.end and other.start < start + cells.nbytes:
                raise EmulationFault(
                    f"{self.name}: {label} at {start:#x} overlaps {other.label} at "
                    f"{other.start:#x}, which is still mapped"
                )
        self._starts.insert(at, start)
        self._mappings.insert(at, Mapping(start, cells, rights, label))

    def unmap(self, start: int) -> None:
        """Undo a mapping.

        Raises:
            EmulationFault: nothing was mapped there.
        """
        at = bisect_left(self._starts, start)
        if at == len(self._starts) or self._starts[at] != start:
            raise EmulationFault(f"{self.name}: nothing to unmap at {start:#x}")
        del self._starts[at], self._mappings[at]

    def access(self, address: int, nbytes: int, right: Rights) -> Bytes:
        """Return the bytes of a range, which may not leave its mapping.

        Raises:
            AccessFault: the range is not mapped, or without the right.
        """
        found = self._find(address, nbytes, right)
        offset = address - found.start
        cells: Bytes = found.cells[offset : offset + nbytes]
        return cells

    def place(self, address: int, nbytes: int, right: Rights) -> int:
        """Return where the bytes of a range are in this process: what aliases have in common.

        Raises:
            AccessFault: as `access`.
        """
        found = self._find(address, nbytes, right)
        return found.place + address - found.start

    def _find(self, address: int, nbytes: int, right: Rights) -> Mapping:
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            found = self._mappings[at]
            if address < found.end >= address + nbytes and right in found.allowed:
                return found
        raise self._refused(at, address, nbytes, right)

    def _refused(self, at: int, address: int, nbytes: int, right: Rights) -> AccessFault:
        found = self._mappings[at] if at >= 0 else None
        verb = "write" if right is Rights.WRITE else "read"
        what = f"{self.name}: {verb} of {nbytes} bytes at {address:#x}"
        place = (address, nbytes, right is Rights.WRITE)
        if found is None or address >= found.end:
            return AccessFault(f"{what}: not mapped{self._near(at)}", *place)
        if address + nbytes > found.end:
            leaves = f"{what}: leaves {found.label}, which ends at {found.end:#x}"
            return AccessFault(leaves, *place)
        return AccessFault(f"{what}: {found.label} is not mapped for it", *place)

    def _near(self, at: int) -> str:
        if at < 0:
            return ""
        found = self._mappings[at]
        return f"; the nearest below is {found.label}, {found.start:#x} to {found.end:#x}"

    def word(self, address: int, nbytes: int) -> int:
        """Read an aligned word.

        Raises:
            AccessFault: as `access`, or the address is not aligned.
        """
        self._aligned(address, nbytes, False)
        found = self._find(address, nbytes, Rights.READ)
        offset = address - found.start
        return int.from_bytes(found.view[offset : offset + nbytes], "little")

    def set_word(self, address: int, nbytes: int, value: int) -> None:
        """Write an aligned word.

        Raises:
            AccessFault: as `access`, or the address is not aligned.
        """
        self._aligned(address, nbytes, True)
        found = self._find(address, nbytes, Rights.WRITE)
        offset = address - found.start
        data = (value & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little")
        found.view[offset : offset + nbytes] = data

    def _aligned(self, address: int, nbytes: int, write: bool) -> None:
        if address % nbytes:
            what = f"{self.name}: word of {nbytes} bytes at {address:#x}: not aligned"
            raise AccessFault(what, address, nbytes, write)
