"""Finds accesses to memory that nothing orders.

Every actor (the host, each queue) has a vector clock. A queue gets what the host knew at the
doorbell; a store to a signal gives away what the queue knows, and a wait that is satisfied by it
takes it on. Two accesses to common bytes, one of them a write, by different actors must be ordered
by these; else there is a schedule in which they happen the other way round.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeAlias

from tg_core.support.emulation.faults import EmulationFault
from tg_core.support.emulation.shadow import Access, ShadowMemory

__all__ = ["HOST", "Access", "Clock", "RaceDetector", "RaceFault"]

Clock: TypeAlias = dict[str, int]
"""Per actor: how many of its accesses are known to be over."""

HOST = "host"

HISTORY = 256
"""Stores to one signal that are remembered. A wait for an older one counts as one for the oldest of
these, so that a race may be missed and none is made up."""


class RaceFault(EmulationFault):
    """Two accesses that nothing orders."""


class RaceDetector:
    """Knows the accesses that still matter, and the clocks."""

    def __init__(self) -> None:
        self.clocks: dict[str, Clock] = {}
        self._signals: dict[int, list[tuple[int, Clock]]] = {}
        self._places: list[int] = []
        """Addresses of signals, in order."""
        self._memory = ShadowMemory(_unordered)
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

    def fork(self, parent: str, child: str) -> None:
        """Something begins that goes on beside its parent, such as a launch that may overlap with
        those after it: it knows what the parent knows now.
        """
        self.join(child, self.clock(parent))

    def merge(self, parent: str, child: str) -> None:
        """What was forked is over, and the parent knows: all that comes later is ordered after it.
        The name of the child may be used again.
        """
        self.join(parent, self.clock(child))

    def release(self, actor: str, signal: int, value: int = 0) -> None:
        """An actor stores to a signal: whoever sees it knows what the actor knows now.

        Args:
            actor: who.
            signal: the address of the signal.
            value: what is stored. Values grow; one that does not begins a new run of them.
        """
        stores = self._signals.get(signal)
        if stores is None:
            stores = self._signals[signal] = []
            insort(self._places, signal)
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
                when others have followed by chance. Where none does, somebody else wrote the word,
                and nothing is learnt. None: the last store was seen.
        """
        stores = self._signals.get(signal)
        if not stores:
            return
        at = len(stores) - 1 if value is None else bisect_left(stores, value, key=_stored)
        if at < len(stores):
            self.join(actor, stores[at][1])

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
            if nbytes > 0:
                self._memory.enter(Access(start, start + nbytes, write, actor, time, what), mine)

    def forget(self, start: int, nbytes: int) -> None:
        """Forget accesses to memory that is given up, and the signals in it: whoever gets the
        memory next may count from anywhere.
        """
        self._memory.forget(start, start + nbytes)
        first, last = (bisect_left(self._places, at) for at in (start, start + nbytes))
        for place in self._places[first:last]:
            del self._signals[place]
        del self._places[first:last]


def _unordered(old: Access, new: Access) -> None:
    low, high = max(old.start, new.start), min(old.end, new.end)
    raise RaceFault(f"race on {high - low} bytes at {low:#x}: {new} is not ordered after {old}")


def _stored(store: tuple[int, Clock]) -> int:
    return store[0]
