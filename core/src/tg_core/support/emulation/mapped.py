"""What an emulated system has mapped into this process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tg_core.support.emulation.files import EmulatedFile
    from tg_core.support.emulation.registers import RegisterFile

__all__ = ["Mapped", "MappedRanges"]


@dataclass(eq=False)
class Mapped:
    """One mapping."""

    start: int
    nbytes: int
    protection: int
    offset: int = 0
    file: EmulatedFile | None = None
    registers: RegisterFile | None = None
    kept: Any = None
    """Keeps the memory behind it alive."""

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.start + self.nbytes


class MappedRanges:
    """All mappings, in the order of their addresses.

    A driver's memory has one address however often it is mapped, so mappings may cover each other.
    Each is undone by itself.
    """

    def __init__(self) -> None:
        self._at: dict[int, list[Mapped]] = {}
        self._starts: list[int] = []
        self._longest = 0
        """No mapping was longer: how far below an address one that covers it may begin."""

    def add(self, mapping: Mapped) -> None:
        """Take a new mapping."""
        known = self._at.setdefault(mapping.start, [])
        if not known:
            insort(self._starts, mapping.start)
        known.append(mapping)
        self._longest = max(self._longest, mapping.nbytes)

    def covering(self, address: int, nbytes: int) -> Mapped | None:
        """Return a mapping of all bytes of a range, None if there is none."""
        at = bisect_right(self._starts, address) - 1
        while at >= 0 and self._starts[at] + self._longest >= address + nbytes:
            for mapping in reversed(self._at[self._starts[at]]):
                if address + nbytes <= mapping.end:
                    return mapping
            at -= 1
        return None

    def take(self, address: int, nbytes: int) -> list[Mapped]:
        """Remove what a range undoes and return it: the last mapping of just that range, else all
        of those inside of it. Nothing is removed where it cuts one, or has none.
        """
        exact = [m for m in self._at.get(address, ()) if m.nbytes == nbytes]
        found = exact[-1:] or self._whole(address, address + nbytes)
        for mapping in found:
            same = self._at[mapping.start]
            same.remove(mapping)
            if not same:
                del self._at[mapping.start]
                del self._starts[bisect_left(self._starts, mapping.start)]
        return found

    def _whole(self, start: int, end: int) -> list[Mapped]:
        first = bisect_left(self._starts, start - self._longest)
        last = bisect_left(self._starts, end)
        near = [m for at in self._starts[first:last] for m in self._at[at] if m.end > start]
        cut = any(m.start < start or m.end > end for m in near)
        return [] if cut else near

    def all(self) -> list[Mapped]:
        """Return every mapping."""
        return [mapping for start in self._starts for mapping in self._at[start]]
