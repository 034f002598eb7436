"""The address space of an emulated device: what is mapped where, and with which rights."""

from __future__ import annotations

import bisect
import enum
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Mapping:
    """A range of addresses and the bytes behind it."""

    start: int
    cells: Bytes
    rights: Rights
    label: str

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.cells.nbytes


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
        at = bisect.bisect_right(self._starts, start)
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
        at = bisect.bisect_left(self._starts, start)
        if at == len(self._starts) or self._starts[at] != start:
            raise EmulationFault(f"{self.name}: nothing to unmap at {start:#x}")
        del self._starts[at], self._mappings[at]

    def access(self, address: int, nbytes: int, right: Rights) -> Bytes:
        """Return the bytes of a range, which may not leave its mapping.

        Raises:
            AccessFault: the range is not mapped, or without the right.
        """
        at = bisect.bisect_right(self._starts, address) - 1
        found = self._mappings[at] if at >= 0 else None
        verb = "write" if right is Rights.WRITE else "read"
        what = f"{self.name}: {verb} of {nbytes} bytes at {address:#x}"
        place = (address, nbytes, right is Rights.WRITE)
        if found is None or address >= found.end:
            raise AccessFault(f"{what}: not mapped{self._near(at)}", *place)
        if address + nbytes > found.end:
            leaves = f"{what}: leaves {found.label}, which ends at {found.end:#x}"
            raise AccessFault(leaves, *place)
        if right not in found.rights:
            raise AccessFault(f"{what}: {found.label} is not mapped for it", *place)
        offset = address - found.start
        cells: Bytes = found.cells[offset : offset + nbytes]
        return cells

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
        return int.from_bytes(self.access(address, nbytes, Rights.READ).tobytes(), "little")

    def set_word(self, address: int, nbytes: int, value: int) -> None:
        """Write an aligned word.

        Raises:
            AccessFault: as `access`, or the address is not aligned.
        """
        self._aligned(address, nbytes, True)
        data = (value & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little")
        self.access(address, nbytes, Rights.WRITE)[:] = np.frombuffer(data, np.uint8)

    def _aligned(self, address: int, nbytes: int, write: bool) -> None:
        if address % nbytes:
            what = f"{self.name}: word of {nbytes} bytes at {address:#x}: not aligned"
            raise AccessFault(what, address, nbytes, write)
