"""REF's kernel driver, emulated: the devices, and what is behind each open node.

It is as strict as the hardware: what is unknown, still in use or of the wrong form is refused, with
the number that the kernel would give and the reason in words.
"""

from __future__ import annotations

import ctypes
import errno
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tg_conformance.refdev import uapi
from tg_conformance.refdev.executor import RefExecutor
from tg_core.backend import (
    AddressSpace,
    DriverFile,
    EmulationFault,
    EventFile,
    Ioctl,
    Register,
    RegisterFile,
    Rights,
    refuse,
)

if TYPE_CHECKING:
    from tg_core.backend import EmulatedSystem, FaultReport, Machine

__all__ = ["Accelerator", "RefDriver"]

MEMORY_BYTES = 1 << 34
SPAN = 1 << 40
"""Distance between the addresses of two devices; below the first of them is the host."""
BASE = 1 << 52
PAGE = 4096
UNWRITTEN = 0xA5
"""What new memory holds, so that reading it before writing it shows."""
SPARSE_BYTES = 1 << 28
"""Allocations from here on are zero until they are written, and take no memory before."""
QUEUES = {uapi.QueueKind.COMPUTE: 1, uapi.QueueKind.COPY: 2}
HANDLE_SHIFT = 42
"""Offsets to map are a handle from this bit on: above the registers, and above any length."""
DOORBELLS = uapi.REGISTERS + uapi.REGISTER_BYTES
"""Offset of the first doorbell."""

_RIGHTS = {1: Rights.READ, 2: Rights.WRITE, 3: Rights.BOTH}


class Accelerator:
    """One device of the machine.

    Args:
        machine: whose.
        index: which one.
    """

    def __init__(self, machine: Machine, index: int) -> None:
        self.machine = machine
        self.name = "REF" if index == 0 else f"REF:{index}"
        self.used = 0
        """Bytes of its memory that are allocated."""
        self._next = BASE + index * SPAN

    def properties(self) -> dict[str, int]:
        """Return what sysfs says of it."""
        counts = {f"{kind.name.lower()}_queues": count for kind, count in QUEUES.items()}
        return {"memory_bytes": MEMORY_BYTES, **counts}

    def address(self, nbytes: int) -> int:
        """Return addresses that nothing else on the machine has, nor the process."""
        start = self._next
        # a page without a mapping after each of them catches what leaves it
        self._next += nbytes + -nbytes % PAGE + PAGE
        return start


@dataclass(eq=False)
class _Block:
    """What a handle stands for."""

    what: str
    address: int
    cells: np.ndarray[Any, np.dtype[np.uint8]]
    counted: int = 0
    """Bytes of the device's memory that it takes."""
    owner: _Block | None = None
    """The memory of another device that it shares."""
    sharers: list[str] = field(default_factory=list)
    """The devices that it is shared with."""
    mapped: int = 0
    """How often the process has mapped it."""
    pinned: bool = False


class RefDriver(DriverFile):
    """An open node: the memory and the queues of one user of a device.

    Args:
        system: that the node is part of.
        device: behind the node.
    """

    IOCTLS: ClassVar = {
        uapi.GET_VERSION: Ioctl(uapi.Version, "version"),
        uapi.ALLOCATE: Ioctl(uapi.Allocate, "allocate", ("address", "offset", "handle")),
        uapi.SHARE: Ioctl(uapi.Share, "share", ("shared", "address")),
        uapi.PIN: Ioctl(uapi.Pin, "pin", ("handle", "address")),
        uapi.FREE: Ioctl(uapi.Free, "free", ("reserved",)),
        uapi.CREATE_QUEUE: Ioctl(uapi.CreateQueue, "create_queue", ("doorbell",)),
        uapi.LISTEN: Ioctl(uapi.Listen, "listen", ("reserved",)),
        uapi.GET_FAULT: Ioctl(uapi.Fault, "get_fault"),
        uapi.RESET: Ioctl(None, "reset"),
    }

    def __init__(self, system: EmulatedSystem, device: Accelerator) -> None:
        self.name = f"node of {device.name}"
        self.device, self.machine, self._system = device, device.machine, system
        self.space = AddressSpace(device.name)
        self.queues: list[RefExecutor] = []
        self.registers = RegisterFile(
            f"registers of {device.name}",
            uapi.REGISTER_BYTES,
            [
                Register("STATUS", uapi.STATUS, writable=False, on_read=self._status),
                Register("PROGRESS", uapi.PROGRESS, 8, writable=False, on_read=self._progress),
            ],
        )
        self._blocks: dict[int, _Block] = {}
        self._handles = 0
        self._doorbells: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        self._events: list[EventFile] = []
        self._fault: FaultReport | None = None
        self.machine.fault_listeners.append(self._stopped)

    def version(self, argument: uapi.Version) -> None:
        """Answer GET_VERSION."""
        argument.major, argument.minor = uapi.MAJOR, uapi.MINOR

    def allocate(self, argument: uapi.Allocate) -> None:
        """Answer ALLOCATE."""
        nbytes, flags = argument.nbytes, argument.flags
        if nbytes == 0 or flags & ~3:
            raise refuse(errno.EINVAL, f"{self.name}: {nbytes} bytes with flags {flags:#x}")
        in_host = bool(flags & uapi.MemoryFlags.HOST)
        counted = 0 if in_host else nbytes
        if self.device.used + counted > MEMORY_BYTES:
            raise refuse(errno.ENOMEM, f"{self.name}: {nbytes} bytes, {self.device.used} are used")
        what = f"{'host memory' if in_host else 'memory'} of {self.device.name}"
        block = _Block(what, self.device.address(nbytes), new_memory(nbytes), counted)
        rights = Rights.READ if flags & uapi.MemoryFlags.READ_ONLY else Rights.BOTH
        self.device.used += counted
        argument.handle = self._add(block, rights)
        argument.address, argument.offset = block.address, argument.handle << HANDLE_SHIFT

    def share(self, argument: uapi.Share) -> None:
        """Answer SHARE."""
        other = self._system.file(argument.fd)
        if not isinstance(other, RefDriver):
            raise refuse(errno.EINVAL, f"{self.name}: {other.name} is no device of REF")
        owner = other.block(argument.handle)
        block = _Block(owner.what, owner.address, owner.cells, owner=owner)
        argument.shared = self._add(block, self._rights(argument.rights))
        argument.address = block.address
        owner.sharers.append(self.device.name)

    def pin(self, argument: uapi.Pin) -> None:
        """Answer PIN."""
        rights = self._rights(argument.rights)
        if argument.nbytes == 0 or argument.start == 0:
            raise refuse(errno.EFAULT, f"{self.name}: {argument.nbytes} bytes at {argument.start}")
        cells = np.ctypeslib.as_array(
            (ctypes.c_uint8 * argument.nbytes).from_address(argument.start)
        )
        address = self.device.address(argument.nbytes)
        block = _Block("memory of the host", address, cells, pinned=True)
        argument.handle, argument.address = self._add(block, rights), address

    def free(self, argument: uapi.Free) -> None:
        """Answer FREE."""
        block = self.block(argument.handle)
        if block.mapped:
            raise refuse(errno.EBUSY, f"{self.name}: {block.what} is mapped by the process")
        if block.sharers:
            names = ", ".join(block.sharers)
            raise refuse(errno.EBUSY, f"{self.name}: {block.what} is shared with {names}")
        self._remove(argument.handle)

    def create_queue(self, argument: uapi.CreateQueue) -> None:
        """Answer CREATE_QUEUE."""
        what = f"{self.name}: queue {argument.kind}:{argument.index}"
        if argument.index >= dict(QUEUES).get(argument.kind, 0):
            raise refuse(errno.EINVAL, f"{what}: there is none")
        kind = uapi.QueueKind(argument.kind).name
        name = f"{self.device.name} {kind}:{argument.index}"
        if any(queue.name == name for queue in self.queues):
            raise refuse(errno.EBUSY, f"{what}: it is in use")
        if argument.bits not in (32, 64):
            raise refuse(errno.EINVAL, f"{what}: signals of {argument.bits} bits")
        try:
            self.space.access(argument.ring, 4 * argument.ring_words, Rights.READ)
            self.space.access(argument.read_ptr, 8, Rights.WRITE)
        except EmulationFault as fault:
            raise refuse(errno.EFAULT, f"{what}: {fault}") from fault
        argument.doorbell = DOORBELLS + uapi.DOORBELL_BYTES * len(self._doorbells)
        page = self._doorbells[argument.doorbell] = new_memory(uapi.DOORBELL_BYTES)
        page[:] = 0
        queue = RefExecutor(self, name, kind, argument, page[:8].data.cast("Q"))
        self.queues.append(queue)
        self.machine.add(queue)

    def listen(self, argument: uapi.Listen) -> None:
        """Answer LISTEN."""
        event = self._system.file(argument.event)
        if not isinstance(event, EventFile):
            raise refuse(errno.EINVAL, f"{self.name}: {event.name} is no event")
        self._events.append(event)

    def get_fault(self, argument: uapi.Fault) -> None:
        """Answer GET_FAULT."""
        if self._fault is None:
            raise refuse(errno.ENODATA, f"{self.name}: no queue has stopped")
        argument.address, argument.nbytes = self._fault.address or 0, self._fault.nbytes
        argument.write, argument.message = self._fault.write, self._fault.message.encode()[:1023]

    def reset(self, number: int) -> None:
        """Answer RESET."""
        for queue in self.queues:
            queue.reset()
            # Nothing is in flight any more: whatever comes is later.
            self.machine.races.join("host", self.machine.races.snapshot(queue.name))
        self._fault = None

    def map(
        self, offset: int, nbytes: int, protection: int
    ) -> np.ndarray[Any, np.dtype[np.uint8]] | RegisterFile:
        if offset == uapi.REGISTERS:
            return self.registers
        if offset in self._doorbells:
            return self._doorbells[offset]
        block = self.block(offset >> HANDLE_SHIFT)
        if block.owner is not None or block.pinned or offset % (1 << HANDLE_SHIFT):
            raise refuse(errno.EINVAL, f"{self.name}: nothing to map at offset {offset:#x}")
        block.mapped += 1
        return block.cells

    def unmapped(self, offset: int, nbytes: int) -> None:
        block = self._blocks.get(offset >> HANDLE_SHIFT)
        if block is not None:
            block.mapped -= 1

    def close(self) -> None:
        """Take back all that the user had."""
        self.machine.remove(list(self.queues))
        self.machine.fault_listeners.remove(self._stopped)
        for handle in list(self._blocks):
            self._remove(handle)

    def interrupt(self) -> None:
        """Wake who listens."""
        for event in self._events:
            event.signal()

    def block(self, handle: int) -> _Block:
        """Return what a handle stands for.

        Raises:
            OSError: EINVAL, nothing.
        """
        found = self._blocks.get(handle)
        if found is None:
            raise refuse(errno.EINVAL, f"{self.name}: no memory has the handle {handle}")
        return found

    def _add(self, block: _Block, rights: Rights) -> int:
        try:
            self.space.map(block.address, block.cells, rights, block.what)
        except EmulationFault as fault:
            raise refuse(errno.EEXIST, f"{self.name}: {fault}") from fault
        self._handles += 1
        self._blocks[self._handles] = block
        return self._handles

    def _remove(self, handle: int) -> None:
        block = self._blocks.pop(handle)
        self.space.unmap(block.address)
        self.device.used -= block.counted
        if block.owner is not None:
            block.owner.sharers.remove(self.device.name)
        else:
            place = int(block.cells.ctypes.data)
            self.machine.races.forget(place, block.cells.nbytes)

    def _rights(self, asked: int) -> Rights:
        if asked not in _RIGHTS:
            raise refuse(errno.EINVAL, f"{self.name}: there are no rights {asked:#x}")
        return _RIGHTS[asked]

    def _stopped(self, report: FaultReport) -> None:
        if any(q.name == report.queue and q.fault is not None for q in self.queues):
            self._fault = self._fault or report
            self.interrupt()

    def _status(self, kept: int) -> int:
        return 0 if self._fault is None else uapi.FAULTED

    def _progress(self, kept: int) -> int:
        return self.machine.steps


def new_memory(nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return memory that begins at a page."""
    block = np.zeros(nbytes + PAGE, np.uint8)
    if nbytes < SPARSE_BYTES:
        block.fill(UNWRITTEN)
    start = -int(block.ctypes.data) % PAGE
    return block[start : start + nbytes]
