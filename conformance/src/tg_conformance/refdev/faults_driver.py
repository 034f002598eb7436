"""What a driver can get wrong. Each function makes a wrong method out of the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tg_conformance.refdev import uapi
from tg_core.backend import BufferOptions

if TYPE_CHECKING:
    from tg_conformance.refdev.device import RefDevice
    from tg_conformance.refdev.interface import RefInterface
    from tg_conformance.refdev.memory import RefAllocator
    from tg_core.backend import HCQBuffer, QueueDescription

__all__ = [
    "at_the_base",
    "cut_by_a_byte",
    "doorbell_of_another_queue",
    "no_fault",
    "own_memory",
    "pinned_for_reading",
    "released_at_once",
    "remembered_address",
    "same_memory_again",
]

Method = Callable[..., Any]


def doorbell_of_another_queue(right: Method) -> Method:
    """Let copies ring for kernels."""

    def wrong(self: RefDevice, kind: str, index: int, ring_bytes: int) -> QueueDescription | None:
        made: QueueDescription | None = right(self, kind, index, ring_bytes)
        if made is None or kind == "COMPUTE":
            return made
        return replace(made, doorbell=self.queue("COMPUTE", 0).doorbell)

    return wrong


def no_fault(right: Method) -> Method:
    """Find no fault."""

    def wrong(self: RefInterface) -> str | None:
        return None

    return wrong


def released_at_once(right: Method) -> Method:
    """Wait for nobody."""

    def wrong(self: RefAllocator, opaque: HCQBuffer, nbytes: int, options: BufferOptions) -> None:
        for device in opaque.mapped:
            device.hcq_allocator.unmap_peer(opaque)
        opaque.mapped.clear()
        self.destroy(opaque)

    return wrong


def same_memory_again(right: Method) -> Method:
    """Give out one block of each size over and over."""
    blocks: dict[tuple[object, int], HCQBuffer] = {}

    def wrong(self: RefAllocator, nbytes: int, options: BufferOptions) -> HCQBuffer:
        if options.host:
            made: HCQBuffer = right(self, nbytes, options)
            return made
        known = blocks.get((self, nbytes))
        if known is None:
            known = blocks[self, nbytes] = right(self, nbytes, options)
        return known

    return wrong


def own_memory(right: Method) -> Method:
    """Give bytes that look like the peer's, once."""

    def wrong(self: RefAllocator, buffer: HCQBuffer) -> int:
        address: int = right(self, buffer)
        if buffer.in_host:
            # Signals and rings: without them nothing would be seen of the rest.
            return address
        own = self.create(buffer.nbytes, BufferOptions())
        own.host_bytes()[:] = buffer.host_bytes()
        return own.address

    return wrong


def remembered_address(right: Method) -> Method:
    """Know memory by its size."""
    known: dict[tuple[object, int], int] = {}

    def wrong(self: RefAllocator, opaque: HCQBuffer) -> int:
        if opaque.base.owner is not self.device or opaque.in_host:
            address: int = right(self, opaque)
            return address
        return known.setdefault((self, opaque.nbytes), right(self, opaque))

    return wrong


def at_the_base(right: Method) -> Method:
    """Drop the offset."""

    def wrong(self: RefAllocator, opaque: HCQBuffer, nbytes: int, offset: int) -> HCQBuffer:
        view: HCQBuffer = right(self, opaque, nbytes, 0)
        return view

    return wrong


def cut_by_a_byte(right: Method) -> Method:
    """Leave the last byte out."""

    def wrong(self: RefInterface, start: int, nbytes: int) -> tuple[int, int]:
        found: tuple[int, int] = right(self, start, max(nbytes - 1, 1))
        return found

    return wrong


def pinned_for_reading(right: Method) -> Method:
    """Ask for one right alone."""

    def wrong(self: RefInterface, start: int, nbytes: int) -> tuple[int, int]:
        asked = uapi.Pin(start=start, nbytes=nbytes, rights=uapi.Rights.READ)
        self._port.ioctl(self.fd, uapi.PIN, asked)
        return asked.handle, asked.address

    return wrong
