"""Memory of the device, as core asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_conformance.refdev.uapi import MemoryFlags
from tg_core.backend import HCQAllocator, HCQBuffer

if TYPE_CHECKING:
    from tg_conformance.refdev.device import RefDevice
    from tg_conformance.refdev.interface import RefInterface
    from tg_core.backend import BufferOptions

__all__ = ["RefAllocator"]


class RefAllocator(HCQAllocator):
    """Asks the driver, and keeps the handles that it gives."""

    device: RefDevice

    def __init__(self, device: RefDevice) -> None:
        super().__init__(device)
        self._peers: dict[int, int] = {}
        """Handles of shared memory, by its address."""
        self._pinned: dict[tuple[int, int], int] = {}
        """Handles of memory of the host."""

    @property
    def driver(self) -> RefInterface:
        """The open device."""
        return self.device.interface

    def create(self, nbytes: int, options: BufferOptions) -> HCQBuffer:
        flags = MemoryFlags.HOST if options.host else MemoryFlags(0)
        made = self.driver.allocate(nbytes, flags)
        return HCQBuffer(self.device, made.address, nbytes, made.view, meta=made)

    def destroy(self, buffer: HCQBuffer) -> None:
        self.driver.free(buffer.meta)

    def map_peer(self, buffer: HCQBuffer) -> int:
        owner: RefInterface = buffer.owner.interface
        self._peers[buffer.address], address = self.driver.share(owner, buffer.meta)
        return address

    def unmap_peer(self, buffer: HCQBuffer) -> None:
        self.driver.give_up(self._peers.pop(buffer.address))

    def map_host(self, address: int, nbytes: int) -> int:
        self._pinned[address, nbytes], reached = self.driver.pin(address, nbytes)
        return reached

    def unmap_host(self, address: int, nbytes: int) -> None:
        self.driver.give_up(self._pinned.pop((address, nbytes)))

    def limit(self) -> int:
        return self.driver.memory_bytes
