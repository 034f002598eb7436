"""What was last done to each byte of memory, as ranges that do not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tg_core.support.interval_map import IntervalMap

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


class _Past(NamedTuple):
    """What was done to some bytes: the last write, and the last read of each actor after it.

    Earlier ones need not be known: whatever comes after these comes after those.
    """

    write: Access | None
    reads: Mapping[str, Access]


class ShadowMemory:
    """The past of all memory that anybody has accessed.

    Args:
        conflict: called with an earlier and a new access to common bytes, one of which is a write,
            where the new one does not know that the earlier one is over. It raises.
    """

    def __init__(self, conflict: Callable[[Access, Access], None]) -> None:
        self._conflict = conflict
        self._bytes: IntervalMap[_Past] = IntervalMap()

    def __len__(self) -> int:
        return len(self._bytes)

    def enter(self, new: Access, known: Mapping[str, int]) -> None:
        """Compare an access with those before it, and keep it.

        Args:
            new: the access.
            known: per actor, up to which time its accesses are known to be over.
        """
        over = known.get
        for past in self._bytes.overlapping(new.start, new.end):
            written = past.write
            if written is not None and written.time > over(written.actor, 0):
                self._conflict(written, new)
            if new.write:
                for read in past.reads.values():
                    if read.time > over(read.actor, 0):
                        self._conflict(read, new)
        if new.write:
            self._bytes.assign(new.start, new.end, _Past(new, {}))
            return

        def read_too(past: _Past | None) -> _Past:
            if past is None:
                return _Past(None, {new.actor: new})
            return _Past(past.write, {**past.reads, new.actor: new})

        self._bytes.update(new.start, new.end, read_too)

    def forget(self, start: int, end: int) -> None:
        """Forget what was done to bytes."""
        self._bytes.remove(start, end)
