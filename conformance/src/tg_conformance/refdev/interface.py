"""The way to REF's driver: an open node, and what is asked of it.

All of it goes through an `OSPort` and views of what that maps. Nothing here knows who is behind:
a device whose driver is part of the kernel gives a `LinuxPort`, REF itself an `EmulatedSystem`.
"""

from __future__ import annotations

import mmap
import select
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_conformance.refdev import uapi
from tg_core.backend import DeviceError, DeviceNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.backend import OSPort

__all__ = ["Allocation", "RefInterface"]

MOST_SECONDS = 1e-3
"""How long one wait for an interrupt lasts: another thread may have taken it."""


@dataclass(frozen=True)
class Allocation:
    """Memory that the driver gave."""

    handle: int
    address: int
    """On the device."""
    place: int
    """In this process."""
    view: memoryview
    """The same bytes as the host sees them."""


class RefInterface:
    """An open device.

    Args:
        port: to the operating system.
        index: which device.

    Raises:
        DeviceNotFound: there is none of that index.
        DeviceError: the driver is of another version.
    """

    def __init__(self, port: OSPort, index: int) -> None:
        self._port = port
        count = len(port.listdir(uapi.CLASS))
        if index >= count:
            raise DeviceNotFound(f"no device {index}: there are {count} devices")
        folder = f"{uapi.CLASS}/ref{index}"
        self.memory_bytes = int(port.read_text(f"{folder}/memory_bytes"))
        self.queue_counts: Mapping[str, int] = {
            kind.name: int(port.read_text(f"{folder}/{kind.name.lower()}_queues"))
            for kind in uapi.QueueKind
        }
        self.fd = port.open(uapi.NODE.format(index))
        self.closed = False
        version = uapi.Version()
        port.ioctl(self.fd, uapi.GET_VERSION, version)
        if version.major != uapi.MAJOR:
            port.close(self.fd)
            raise DeviceError(
                f"the driver speaks version {version.major}.{version.minor}, "
                f"expected {uapi.MAJOR}.{uapi.MINOR}"
            )
        self._event = port.event()
        port.ioctl(self.fd, uapi.LISTEN, uapi.Listen(self._event))
        self._registers = port.mmap(
            uapi.REGISTER_BYTES, mmap.PROT_READ, fd=self.fd, offset=uapi.REGISTERS
        )
        self._status = port.words(self._registers + uapi.STATUS, 4, "I")
        self._progress = port.words(self._registers + uapi.PROGRESS, 8, "Q")
        self._seen = self._progress[0]
        self._doorbells: list[int] = []

    def allocate(self, nbytes: int, flags: uapi.MemoryFlags) -> Allocation:
        """Return new memory, mapped into the process.

        Raises:
            MemoryError: there is no room.
        """
        asked = uapi.Allocate(nbytes=nbytes, flags=flags)
        try:
            self._port.ioctl(self.fd, uapi.ALLOCATE, asked)
        except OSError as error:
            raise MemoryError(str(error)) from error
        place = self._port.mmap(nbytes, fd=self.fd, offset=asked.offset)
        view = self._port.memory(place, nbytes)
        return Allocation(asked.handle, asked.address, place, view)

    def free(self, memory: Allocation) -> None:
        """Give memory up."""
        self._port.munmap(memory.place, memory.view.nbytes)
        self.give_up(memory.handle)

    def share(self, owner: RefInterface, memory: Allocation) -> tuple[int, int]:
        """Make memory of another device reachable; returns a handle, and the address."""
        rights = uapi.Rights.READ | uapi.Rights.WRITE
        asked = uapi.Share(fd=owner.fd, handle=memory.handle, rights=rights)
        self._port.ioctl(self.fd, uapi.SHARE, asked)
        return asked.shared, asked.address

    def pin(self, start: int, nbytes: int) -> tuple[int, int]:
        """Make memory of this process reachable; returns a handle, and the address.

        Raises:
            DeviceError: the driver refuses.
        """
        asked = uapi.Pin(start=start, nbytes=nbytes, rights=uapi.Rights.READ | uapi.Rights.WRITE)
        try:
            self._port.ioctl(self.fd, uapi.PIN, asked)
        except OSError as error:
            raise DeviceError(str(error)) from error
        return asked.handle, asked.address

    def give_up(self, handle: int) -> None:
        """Undo `share` and `pin`."""
        # the driver takes back what is left when the device is closed
        if not self.closed:
            self._port.ioctl(self.fd, uapi.FREE, uapi.Free(handle))

    def create_queue(
        self, kind: str, index: int, ring: Allocation, bits: int, read_ptr: int
    ) -> memoryview:
        """Make a queue; returns its doorbell."""
        asked = uapi.CreateQueue(
            kind=uapi.QueueKind[kind],
            index=index,
            ring=ring.address,
            ring_words=ring.view.nbytes // 4,
            bits=bits,
            read_ptr=read_ptr,
        )
        self._port.ioctl(self.fd, uapi.CREATE_QUEUE, asked)
        place = self._port.mmap(uapi.DOORBELL_BYTES, fd=self.fd, offset=asked.doorbell)
        self._doorbells.append(place)
        return self._port.memory(place, 8)

    def wait(self, seconds: float) -> bool:
        """Wait for an interrupt.

        Args:
            seconds: at most this long.

        Returns:
            False if none came, and nothing has moved on the whole machine.
        """
        events = {self._event: select.POLLIN}
        came = bool(self._port.poll(events, min(seconds, MOST_SECONDS)))
        if came:
            # another thread may have taken it
            with suppress(BlockingIOError):
                self._port.read(self._event, 8)
        before, self._seen = self._seen, self._progress[0]
        return came or self._seen != before

    def fault(self) -> str | None:
        """Return what stopped a queue, None if nothing did."""
        if not self._status[0] & uapi.FAULTED:
            return None
        found = uapi.Fault()
        self._port.ioctl(self.fd, uapi.GET_FAULT, found)
        return str(found.message.decode())

    def report(self) -> str:
        """Return what every queue is at."""
        return self._port.read_text(uapi.STATE)

    def reset(self) -> None:
        """Drop all work."""
        self._port.ioctl(self.fd, uapi.RESET)

    def close(self) -> None:
        """Release the device, with all that it gave."""
        if self.closed:
            return
        self.closed = True
        self._port.munmap(self._registers, uapi.REGISTER_BYTES)
        for place in self._doorbells:
            self._port.munmap(place, uapi.DOORBELL_BYTES)
        self._port.close(self._event)
        self._port.close(self.fd)
