"""Finds accesses to memory that nothing orders.

Every actor (the host, each queue) has a vector clock. A queue gets what the host knew at the
doorbell; a store to a signal gives away what the queue knows, and a wait that is satisfied by it
takes it on. Two accesses to common bytes, one of them a write, by different actors must be ordered
by these; else there is a schedule in which they happen the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tg_core.support.emulation.faults import EmulationFault

__all__ = ["HOST", "Access", "Clock", "RaceDetector", "RaceFault"]

Clock: TypeAlias = dict[str, int]
"""Per actor: how many of its accesses are known to be over."""

HOST = "host"

BLOCK = 1 << 16
"""Granularity of the index of accesses, in bytes."""

HISTORY = 256
"""Stores to one signal that are remembered."""


class RaceFault(EmulationFault):
    """Two accesses that nothing orders."""


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


class RaceDetector:
    """Knows the accesses that still matter, and the clocks."""

    def __init__(self) -> None:
        self.clocks: dict[str, Clock] = {}
        self._signals: dict[int, list[tuple[int, Clock]]] = {}
        self._pages: dict[int, list[Access]] = {}
        self.enabled = True
        self.checked = 0
        """How many accesses were looked at."""

    def clock(self, actor: str) -> Clock:
        """Return the clock of an actor, to read or to copy."""
        return self.clocks.setdefault(actor, {})

    def snapshot(self, actor: str = HOST) -> Clock:
        """Return what an actor knows now."""
        return dict(self.clock(actor))

    def join(self, actor: str, other: Clock) -> None:
        """Let an actor know what another one knew."""
        mine = self.clock(actor)
        for name, time in other.items():
            if mine.get(name, 0) < time:
                mine[name] = time

    def release(self, actor: str, signal: int, value: int = 0) -> None:
        """An actor stores to a signal: whoever sees it knows what the actor knows now.

        Args:
            actor: who.
            signal: the address of the signal.
            value: what is stored. Values grow; one that does not begins a new run of them.
        """
        stores = self._signals.setdefault(signal, [])
        if stores and value <= stores[-1][0]:
            stores.clear()
        if len(stores) >= HISTORY:
            del stores[0]
        stores.append((value, self.snapshot(actor)))

    def acquire(self, actor: str, signal: int, value: int | None = None) -> None:
        """An actor has seen a signal.

        Args:
            actor: who.
            signal: the address of the signal.
            value: what it waited for: only the first store that suffices is known to be over, also
                when others have followed by chance. None: the last store was seen.
        """
        stores = self._signals.get(signal)
        if not stores:
            return
        for stored, known in stores:
            if value is not None and stored >= value:
                self.join(actor, known)
                return
        self.join(actor, stores[-1][1])

    def access(self, actor: str, what: str, ranges: list[tuple[int, int, bool]]) -> None:
        """Take note of what one packet, or one call of the host, does.

        Args:
            actor: who.
            what: the packet and kernel, for messages.
            ranges: address, length and whether it is written.

        Raises:
            RaceFault: an earlier access to common bytes is not ordered before it.
        """
        if not self.enabled:
            return
        mine = self.clock(actor)
        time = mine.get(actor, 0) + 1
        mine[actor] = time
        for start, nbytes, write in ranges:
            self.checked += 1
            new = Access(start, start + nbytes, write, actor, time, what)
            for page in range(start // BLOCK, (start + nbytes - 1) // BLOCK + 1):
                self._enter(page, new, mine)

    def _enter(self, page: int, new: Access, known: Clock) -> None:
        kept: list[Access] = []
        for old in self._pages.get(page, ()):
            overlaps = old.start < new.end and new.start < old.end
            ordered = old.time <= known.get(old.actor, 0)
            if overlaps and not ordered and (old.write or new.write):
                low, high = max(old.start, new.start), min(old.end, new.end)
                raise RaceFault(
                    f"race on {high - low} bytes at {low:#x}: {new} is not ordered after {old}"
                )
            # What is ordered before a write of the same bytes is ordered before all that follows
            # that write; the same goes for a read by the same actor, or one that a read covers.
            inside = new.start <= old.start and old.end <= new.end
            superseded = inside and ordered and (new.write or not old.write)
            if not superseded:
                kept.append(old)
        kept.append(new)
        self._pages[page] = kept

    def forget(self, start: int, nbytes: int) -> None:
        """Forget accesses to memory that is given up."""
        end = start + nbytes
        for page in range(start // BLOCK, (end - 1) // BLOCK + 1):
            entries = self._pages.get(page)
            if entries is not None:
                kept = [e for e in entries if not (start <= e.start and e.end <= end)]
                if kept:
                    self._pages[page] = kept
                else:
                    del self._pages[page]
