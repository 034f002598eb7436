"""What was last done to each byte of memory, as ranges that do not overlap."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Access", "ShadowMemory"]


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody did to a range of bytes, which are known by their address in this process."""

    start: int
    end: int
    write: bool
    actor: str
    time: int
    what: str

    def __str__(self) -> str:
        return f"{'write' if self.write else 'read'} by {self.what} ({self.actor})"


class _Range:
    """Bytes with a common past: the last write, and the last read of each actor after it.

    Earlier ones need not be known: whatever comes after these comes after those.
    """

    __slots__ = ("end", "reads", "start", "write")

    def __init__(
        self, start: int, end: int, write: Access | None, reads: dict[str, Access]
    ) -> None:
        self.start, self.end, self.write, self.reads = start, end, write, reads

    def part(self, start: int, end: int) -> _Range:
        return _Range(start, end, self.write, self.reads.copy())


class ShadowMemory:
    """The past of all memory that anybody has accessed.

    Args:
        conflict: called with an earlier and a new access to common bytes, one of which is a write,
            where the new one does not know that the earlier one is over. It raises.
    """

    def __init__(self, conflict: Callable[[Access, Access], None]) -> None:
        self._conflict = conflict
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._ranges: list[_Range] = []

    def __len__(self) -> int:
        return len(self._ranges)

    def enter(self, new: Access, known: Mapping[str, int]) -> None:
        """Compare an access with those before it, and keep it.

        Args:
            new: the access.
            known: per actor, up to which time its accesses are known to be over.
        """
        first, last = self._between(new.start, new.end)
        touched = self._ranges[first:last]
        over = known.get
        for old in touched:
            written = old.write
            if written is not None and written.time > over(written.actor, 0):
                self._conflict(written, new)
            if new.write:
                for read in old.reads.values():
                    if read.time > over(read.actor, 0):
                        self._conflict(read, new)
        if len(touched) == 1 and touched[0].start == new.start and touched[0].end == new.end:
            self._note(touched[0], new)
            return
        kept = self._outside(touched, new.start, new.end)
        if new.write:
            inside = [_Range(new.start, new.end, new, {})]
        else:
            inside = self._read(touched, new)
        self._replace(first, last, kept[0] + inside + kept[1])

    def forget(self, start: int, end: int) -> None:
        """Forget what was done to bytes."""
        first, last = self._between(start, end)
        left, right = self._outside(self._ranges[first:last], start, end)
        self._replace(first, last, left + right)

    def _between(self, start: int, end: int) -> tuple[int, int]:
        """Return the positions of the ranges that have bytes between two addresses."""
        return bisect_left(self._ends, start + 1), bisect_left(self._starts, end)

    @staticmethod
    def _note(place: _Range, new: Access) -> None:
        if new.write:
            place.write = new
            place.reads.clear()
        else:
            place.reads[new.actor] = new

    @staticmethod
    def _outside(touched: list[_Range], start: int, end: int) -> tuple[list[_Range], list[_Range]]:
        """Return what lies left and right of two addresses."""
        left = [r.part(r.start, start) for r in touched[:1] if r.start < start]
        right = [r.part(end, r.end) for r in touched[-1:] if end < r.end]
        return left, right

    def _read(self, touched: list[_Range], new: Access) -> list[_Range]:
        """Return the ranges inside of a read, those included that nobody has accessed before."""
        found = []
        at = new.start
        for old in touched:
            start, end = max(old.start, new.start), min(old.end, new.end)
            if at < start:
                found.append(_Range(at, start, None, {new.actor: new}))
            part = old.part(start, end)
            part.reads[new.actor] = new
            found.append(part)
            at = end
        if at < new.end:
            found.append(_Range(at, new.end, None, {new.actor: new}))
        return found

    def _replace(self, first: int, last: int, ranges: list[_Range]) -> None:
        self._ranges[first:last] = ranges
        self._starts[first:last] = [r.start for r in ranges]
        self._ends[first:last] = [r.end for r in ranges]
