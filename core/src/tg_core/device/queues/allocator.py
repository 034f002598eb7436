"""The allocator of a device with queues: what all of them share."""

from __future__ import annotations

import importlib
from collections import deque
from typing import TYPE_CHECKING, Any

from tg_core.device.api import Allocator, BufferOptions
from tg_core.device.queues.host_mappings import HostMappings
from tg_core.device.queues.memory import HCQBuffer
from tg_core.errors import DeviceError

if TYPE_CHECKING:
    from tg_core.device.queues.compiled import HCQCompiled

__all__ = ["HCQAllocator"]


class HCQAllocator(Allocator):
    """Memory that queues work on. A backend gives the first four methods, or two of them.

    | method | what it does |
    |---|---|
    | `create` | returns a new `HCQBuffer` |
    | `destroy` | releases one that no device uses any more |
    | `map_peer`, `unmap_peer` | make memory of another device of the type reachable |
    | `map_host`, `unmap_host` | make memory of this process reachable for queues |

    Memory of a host buffer is mapped at its first use and stays so until the buffer dies; a range
    is never mapped twice at a time.

    The host reads and writes through the host's view of the memory, once the device is idle. Where
    there is no such view, what is read and written goes through staging memory and the copy queue.
    """

    device: HCQCompiled

    def create(self, nbytes: int, options: BufferOptions) -> HCQBuffer:
        """Return new memory.

        Args:
            nbytes: how much, in bytes.
            options: how it is wanted; `external` never gets here.

        Raises:
            MemoryError: there is none left.
        """
        raise DeviceError(f"{self.device.name}: its allocator cannot create memory")

    def destroy(self, buffer: HCQBuffer) -> None:
        """Release memory that no device uses any more."""

    def map_peer(self, buffer: HCQBuffer) -> int:
        """Make another device's allocation reachable; returns its address on this device."""
        raise DeviceError(f"{self.device.name}: it cannot reach memory of {buffer.owner.name}")

    def unmap_peer(self, buffer: HCQBuffer) -> None:
        """Undo `map_peer`, before the memory is released."""

    def map_host(self, address: int, nbytes: int) -> int:
        """Make memory of this process reachable; returns its address on the device.

        Raises:
            DeviceError: it cannot be mapped; copies then go by the host.
        """
        raise DeviceError(f"{self.device.name}: it cannot reach memory of the host")

    def unmap_host(self, address: int, nbytes: int) -> None:
        """Undo `map_host`."""

    def __init__(self, device: HCQCompiled) -> None:
        super().__init__(device)
        self._given_up: deque[HCQBuffer] = deque()
        self.host_mappings = HostMappings(self, device.SHOWN_BYTES)
        """Memory of host buffers that queues have been shown."""

    def alloc(self, nbytes: int, options: BufferOptions) -> HCQBuffer:
        self._release()
        try:
            made = self.create(nbytes, options)
        except MemoryError:
            # what is mapped of the host takes room too, in tables at least
            if not self.host_mappings.release():
                raise
            made = self.create(nbytes, options)
        made.in_host = options.host
        return made

    def free(self, opaque: HCQBuffer, nbytes: int, options: BufferOptions) -> None:
        # Called by finalizers too, which may find the device where it cannot wait.
        self._given_up.append(opaque)
        self._release()

    def _release(self) -> None:
        while self._given_up and not self.device.occupied:
            try:
                opaque = self._given_up.popleft()
            except IndexError:
                # another thread was faster
                return
            self._release_one(opaque)

    def _release_one(self, opaque: HCQBuffer) -> None:
        # Work in flight may still use it, on any device that can reach it.
        for device in (self.device, *opaque.mapped):
            if not device.lost:
                device.synchronize()
        for device in opaque.mapped:
            device.hcq_allocator._unmap(opaque)
        opaque.mapped.clear()
        self.destroy(opaque)

    def copyin(self, opaque: HCQBuffer, data: memoryview) -> None:
        if opaque.host is None:
            self._staging().copy_in(self.device, opaque, data)
            return
        self.device.synchronize()
        self.device.host_access(opaque, data.nbytes, True)
        opaque.host_bytes()[: data.nbytes] = data.cast("B")

    def copyout(self, data: memoryview, opaque: HCQBuffer) -> None:
        if opaque.host is None:
            self._staging().copy_out(self.device, data, opaque)
            return
        self.device.synchronize()
        self.device.host_access(opaque, data.nbytes, False)
        data[:] = opaque.host_bytes()[: data.nbytes]

    @property
    def maps_host(self) -> bool:
        """Whether the backend can make memory of this process reachable at all."""
        return type(self).map_host is not HCQAllocator.map_host

    @staticmethod
    def _staging() -> Any:
        # Staging gives batches to queues, and those are made a layer above, which knows this one.
        return importlib.import_module("tg_core.hcq.host_copies")

    def offset(self, opaque: HCQBuffer, nbytes: int, offset: int) -> HCQBuffer:
        return opaque.part(offset, nbytes)

    def address(self, opaque: Any) -> int:
        return self.address_of(opaque)

    def address_of(self, opaque: HCQBuffer) -> int:
        """Return the address of memory on this device; a peer's is mapped at its first use.

        Raises:
            DeviceError: the device cannot reach it.
        """
        if opaque.owner is self.device:
            return opaque.address
        start = opaque.mapped.get(self.device)
        if start is None:
            start = opaque.mapped[self.device] = self._map(opaque.base)
        return start + opaque.address - opaque.base.address

    def _by_host(self, buffer: HCQBuffer) -> bool:
        """Tell whether a foreign allocation is reached as memory of the host."""
        return buffer.in_host and buffer.owner.type != self.device.type

    def _map(self, buffer: HCQBuffer) -> int:
        if self._by_host(buffer):
            return self.map_host(buffer.host_address, buffer.nbytes)
        return self.map_peer(buffer)

    def _unmap(self, buffer: HCQBuffer) -> None:
        if self._by_host(buffer):
            self.unmap_host(buffer.host_address, buffer.nbytes)
        else:
            self.unmap_peer(buffer)
