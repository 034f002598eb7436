"""Memory of the host that a device can reach: mapped at its first use, until its buffer dies."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, Any

from tg_core.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg_core.device.buffer import Buffer
    from tg_core.device.queues.allocator import HCQAllocator

__all__ = ["HostMapping", "HostMappings"]


class HostMapping:
    """A range of memory of this process that a device reaches."""

    __slots__ = ("address", "buffers", "kept", "key", "nbytes", "place", "users")

    def __init__(self, place: int, nbytes: int, address: int, kept: Any) -> None:
        self.place, self.nbytes = place, nbytes
        self.key = (place, nbytes)
        self.address = address
        """Of the first byte, on the device."""
        self.kept = kept
        """The memory as its own allocator knows it, which thus outlives the mapping."""
        self.buffers = 0
        """How many buffers have this memory."""
        self.users = 0
        """How many runs are using it at the moment."""


class HostMappings:
    """What of the host a device has been shown.

    To map memory is a call of the driver, and a slow one; so it is done once for a buffer, not once
    for a run. It is undone when the buffer dies. Batches in flight keep the buffers they work on,
    so that is after them. It is undone earlier where there is need: the least recently used go
    first when more than `most` bytes are mapped, and all that no run is using when the driver
    refuses another mapping or has no memory left.

    Buffers die wherever the collector runs, also in the middle of a method of this class; so their
    end is only noted then, and worked off by whoever can take the lock.

    Args:
        allocator: maps and unmaps.
        most: how many bytes stay mapped between runs.
    """

    def __init__(self, allocator: HCQAllocator, most: int) -> None:
        self._allocator, self._most = allocator, most
        self._lock = threading.Lock()
        self._mapped: OrderedDict[tuple[int, int], HostMapping] = OrderedDict()
        """In the order of their last use."""
        self._of: dict[int, tuple[weakref.ref[Buffer], HostMapping]] = {}
        """By the identity of the buffer."""
        self._dead: deque[HostMapping] = deque()
        """Mappings of buffers that died."""
        self.nbytes = 0
        """How much is mapped."""

    def __len__(self) -> int:
        return len(self._mapped)

    def use(self, buffer: Buffer) -> HostMapping:
        """Return the mapping of a buffer for a run, made now if there is none.

        Args:
            buffer: allocated memory of the host that is no view.

        Raises:
            DeviceError: it cannot be mapped, also after all that is not in use was unmapped.
        """
        with self._lock:
            self._work_off()
            known = self._of.get(id(buffer))
            if known is None or self._mapped.get(known[1].key) is not known[1]:
                known = self._adopt(buffer, known)
            mapping = known[1]
            mapping.users += 1
            self._mapped.move_to_end(mapping.key)
            return mapping

    def done(self, mappings: Iterable[HostMapping]) -> None:
        """Take note that a run no longer uses mappings."""
        with self._lock:
            for mapping in mappings:
                mapping.users -= 1
            self._work_off()
            if self.nbytes > self._most:
                self._unmap_idle(self._most)

    def release(self) -> bool:
        """Unmap all that no run is using; returns whether there was any."""
        # a driver that has no memory left may be in the middle of mapping some
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._unmap_idle(0)
        finally:
            self._lock.release()

    def _adopt(
        self, buffer: Buffer, known: tuple[weakref.ref[Buffer], HostMapping] | None
    ) -> tuple[weakref.ref[Buffer], HostMapping]:
        """Map a buffer; it may have been mapped before."""
        place = buffer.compiled.allocator.address(buffer.opaque)
        nbytes = max(buffer.nbytes, 1)
        mapping = self._mapped.get((place, nbytes))
        if mapping is None:
            mapping = HostMapping(place, nbytes, self._map(place, nbytes), buffer.opaque)
            self._mapped[mapping.key] = mapping
            self.nbytes += nbytes
        mapping.buffers += 1
        number = id(buffer)
        gone = partial(_died, weakref.ref(self), number)
        reference = weakref.ref(buffer, gone) if known is None else known[0]
        self._of[number] = reference, mapping
        return reference, mapping

    def _map(self, place: int, nbytes: int) -> int:
        try:
            return self._allocator.map_host(place, nbytes)
        except DeviceError:
            if not self._unmap_idle(0):
                raise
        return self._allocator.map_host(place, nbytes)

    def _unmap_idle(self, most: int) -> bool:
        idle = [mapping for mapping in self._mapped.values() if mapping.users == 0]
        device = self._allocator.device
        if idle and device.lost is None:
            # a run that ended with an exception may have left its batch in flight
            device.synchronize()
        for mapping in idle:
            if self.nbytes <= most:
                break
            self._unmap(mapping)
        return bool(idle)

    def _unmap(self, mapping: HostMapping) -> None:
        del self._mapped[mapping.key]
        self.nbytes -= mapping.nbytes
        self._allocator.unmap_host(mapping.place, mapping.nbytes)

    def _died(self, number: int) -> None:
        self._dead.append(self._of.pop(number)[1])
        if self._lock.acquire(blocking=False):
            try:
                self._work_off()
            finally:
                self._lock.release()

    def _work_off(self) -> None:
        """Unmap what dead buffers had, unless this thread cannot call the driver now."""
        while self._dead and not self._allocator.device.occupied:
            mapping = self._dead.popleft()
            mapping.buffers -= 1
            if mapping.buffers == 0 and self._mapped.get(mapping.key) is mapping:
                self._unmap(mapping)


def _died(owner: weakref.ref[HostMappings], number: int, buffer: weakref.ref[Buffer]) -> None:
    """Take note that a buffer died."""
    mappings = owner()
    if mappings is not None:
        mappings._died(number)
