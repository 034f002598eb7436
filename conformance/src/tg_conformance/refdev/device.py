"""The device: its queues, its kernels, and waiting for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_conformance.refdev.packets import pack_image
from tg_conformance.refdev.uapi import MemoryFlags
from tg_core.backend import Buffer, HCQBuffer, HCQCompiled, QueueDescription, dtypes

if TYPE_CHECKING:
    from tg_conformance.refdev.interface import Allocation, RefInterface
    from tg_core.backend import OpenRequest, ProgramInfo

__all__ = ["RefDevice"]

CELLS, CELL_BYTES = 3, 64
"""Words of a queue beside its ring, each in a line of the cache of its own."""


class RefDevice(HCQCompiled):
    """A software accelerator: one compute queue, two copy queues, memory of its own."""

    interface: RefInterface
    RING_BYTES = 4 * 255
    """Not a multiple of the length of a packet: packets begin and are cut at every word."""

    def __init__(self, request: OpenRequest) -> None:
        # It replaces methods of this module's classes, so it cannot come before them.
        from tg_conformance.refdev.faults import plant_chosen

        plant_chosen()
        super().__init__(request)
        self.QUEUE_COUNTS = self.interface.queue_counts
        self._queue_memory: list[Allocation] = []

    def create_queue(self, kind: str, index: int, ring_bytes: int) -> QueueDescription | None:
        """Make a queue, in memory of the host that the device can reach."""
        if index >= self.QUEUE_COUNTS.get(kind, 0):
            return None
        driver = self.interface
        ring = driver.allocate(ring_bytes, MemoryFlags.HOST | MemoryFlags.READ_ONLY)
        shared = driver.allocate(CELL_BYTES * CELLS, MemoryFlags.HOST)
        for memory in (ring, shared):
            memory.view[:] = bytes(memory.view.nbytes)
            self._queue_memory.append(memory)
        doorbell = driver.create_queue(kind, index, ring, self.SIGNAL_BITS, shared.address)
        whole = HCQBuffer(self, shared.address, shared.view.nbytes, shared.view, shared)
        read_ptr, write_ptr, put_value = (
            self._words(whole.part(CELL_BYTES * i, 8), 64) for i in range(CELLS)
        )
        words = HCQBuffer(self, ring.address, ring_bytes, ring.view, ring)
        bell = HCQBuffer(self, 0, doorbell.nbytes, doorbell)
        return QueueDescription(
            self._words(words, 32), read_ptr, write_ptr, self._words(bell, 64), put_value
        )

    def _words(self, memory: HCQBuffer, bits: int) -> Buffer:
        dtype = dtypes.uint32 if bits == 32 else dtypes.uint64
        return Buffer(self.name, memory.nbytes * 8 // bits, dtype, opaque=memory)

    def image(self, name: str, binary: bytes, info: ProgramInfo) -> bytes:
        return pack_image(binary, info)

    def sleep(self, seconds: float) -> bool:
        moved = self.interface.wait(seconds)
        fault = self.interface.fault()
        if fault is not None:
            raise self.fail(f"fault: {fault}\n{self.hang_report()}")
        return moved

    def hang_report(self) -> str:
        return self.interface.report()

    def reset(self) -> None:
        self.interface.reset()

    def finalize(self) -> None:
        self.interface.close()
        for memory in self._queue_memory:
            self.interface.free(memory)
