"""The device, and its memory."""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tg_conformance.refdev.executor import RefExecutor
from tg_conformance.refdev.packets import pack_image
from tg_core.backend import (
    AddressSpace,
    Buffer,
    BufferOptions,
    DeviceError,
    EmulationFault,
    HCQAllocator,
    HCQBuffer,
    HCQCompiled,
    Machine,
    QueueDescription,
    Rights,
    dtypes,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tg_core.backend import OpenRequest, ProgramInfo

__all__ = ["MACHINE", "RefAllocator", "RefDevice"]

MACHINE = Machine()
"""All REF devices of this process, which advance together."""

DEVICES = 8
MEMORY_BYTES = 1 << 34
SPAN = 1 << 40
"""Distance between the addresses of two devices; below the first of them is the host."""
BASE = 1 << 52
PAGE = 4096
UNWRITTEN = 0xA5
"""What new memory holds, so that reading it before writing it shows."""
SPARSE_BYTES = 1 << 28
"""Allocations from here on are zero until they are written, and take no memory before."""
COPY_QUEUES = 2


class RefDevice(HCQCompiled):
    """A software accelerator: one compute queue, two copy queues, memory of its own."""

    QUEUE_COUNTS = MappingProxyType({"COMPUTE": 1, "COPY": COPY_QUEUES})
    RING_BYTES = 4 * 255
    """Not a multiple of the length of a packet: packets begin and are cut at every word."""

    def __init__(self, request: OpenRequest) -> None:
        # It replaces methods of this module's classes, so it cannot come before them.
        from tg_conformance.refdev.faults import plant_chosen

        plant_chosen()
        if request.physical_index >= DEVICES:
            raise DeviceError(f"{request.name}: there are {DEVICES} devices")
        super().__init__(request)
        self.space = AddressSpace(self.name)
        self.machine = MACHINE
        self.executors: list[RefExecutor] = []

    def create_queue(self, kind: str, index: int, ring_bytes: int) -> QueueDescription | None:
        """Make a queue, in memory of the host that the device can reach."""
        if index >= self.QUEUE_COUNTS.get(kind, 0):
            return None
        ring = self._shared(ring_bytes // 4, 32)
        read_ptr, write_ptr, doorbell, put_value = (self._shared(1, 64) for _ in range(4))
        memory = QueueDescription(ring, read_ptr, write_ptr, doorbell, put_value)
        executor = RefExecutor(self, kind, index, memory)
        self.executors.append(executor)
        self.machine.add(executor)
        return memory

    def _shared(self, size: int, bits: int) -> Buffer:
        options = BufferOptions(host_access=True, uncached=True, host=True)
        dtype = dtypes.uint32 if bits == 32 else dtypes.uint64
        buffer = Buffer(self.name, size, dtype, options=options).allocate()
        return buffer.copyin(bytes(buffer.nbytes))

    def image(self, name: str, binary: bytes, info: ProgramInfo) -> bytes:
        return pack_image(binary, info)

    @property
    def occupied(self) -> bool:
        return self.machine.stepping

    def sleep(self, seconds: float) -> bool:
        moved = self.machine.advance()
        for executor in self.machine.queues:
            if executor.fault is not None and executor in self.executors:
                raise self.fail(f"fault: {executor.fault}\n{self.hang_report()}")
        return moved

    def hang_report(self) -> str:
        return self.machine.report(list(self.machine.queues))

    def host_access(self, buffer: HCQBuffer, nbytes: int, write: bool) -> None:
        start = buffer.meta + buffer.address - buffer.base.address
        self.machine.look()
        self._host("copyin" if write else "copyout", start, nbytes, write)

    def host_memory_access(self, address: int, nbytes: int, write: bool, what: str) -> None:
        self.machine.look()
        self._host(what, address, nbytes, write)

    def host_acquire(self) -> None:
        with self.machine.lock:
            self.machine.races.acquire("host", self.timeline.buffer.opaque.meta)

    def submission(self) -> AbstractContextManager[object]:
        return self.machine.lock

    def host_submitted(self, commands: HCQBuffer) -> None:
        self.host_acquire()
        self._host(f"submission to {self.name}", commands.meta, commands.nbytes, True)

    def _host(self, what: str, place: int, nbytes: int, write: bool) -> None:
        try:
            with self.machine.lock:
                self.machine.races.access("host", what, [(place, nbytes, write)])
        except EmulationFault as fault:
            raise self.fail(f"fault: {fault}\n{self.hang_report()}") from fault

    def reset(self) -> None:
        with self.machine.lock:
            for executor in self.executors:
                executor.reset()
                # Nothing is in flight any more: whatever comes is later.
                self.machine.races.join("host", self.machine.races.snapshot(executor.name))
            # The host sets the signal, in place of the work that was dropped.
            signal, given = self.timeline.buffer.opaque.meta, self.timeline.given
            self.machine.races.release("host", signal, given)

    def finalize(self) -> None:
        self.machine.remove(list(self.executors))
        self.executors.clear()


class RefAllocator(HCQAllocator):
    """Memory at addresses that nothing else in the process has."""

    device: RefDevice

    def __init__(self, device: RefDevice) -> None:
        super().__init__(device)
        self._next = BASE + device.physical_index * SPAN
        self._host: dict[tuple[int, int], int] = {}

    def create(self, nbytes: int, options: BufferOptions) -> HCQBuffer:
        block = np.zeros(nbytes + PAGE, np.uint8)
        if nbytes < SPARSE_BYTES:
            block.fill(UNWRITTEN)
        start = -int(block.ctypes.data) % PAGE
        cells = block[start : start + nbytes]
        place = int(cells.ctypes.data)
        address = place
        if not options.host:
            address = self._next
            # A page without a mapping after each allocation catches what leaves it.
            self._next += nbytes + -nbytes % PAGE + PAGE
        kind = "host memory" if options.host else "memory"
        with self.device.machine.lock:
            self.device.space.map(address, cells, Rights.BOTH, f"{kind} of {self.device.name}")
        return HCQBuffer(self.device, address, nbytes, cells.data, meta=place)

    def destroy(self, buffer: HCQBuffer) -> None:
        with self.device.machine.lock:
            self.device.space.unmap(buffer.address)
            self.device.machine.races.forget(buffer.meta, buffer.nbytes)

    def map_peer(self, buffer: HCQBuffer) -> int:
        cells = np.frombuffer(buffer.host_bytes(), np.uint8)
        label = f"memory of {buffer.owner.name}"
        with self.device.machine.lock:
            self.device.space.map(buffer.address, cells, Rights.BOTH, label)
        return buffer.address

    def unmap_peer(self, buffer: HCQBuffer) -> None:
        with self.device.machine.lock:
            self.device.space.unmap(buffer.address)

    def map_host(self, address: int, nbytes: int) -> int:
        key = (address, nbytes)
        with self.device.machine.lock:
            if key not in self._host:
                block = (ctypes.c_uint8 * nbytes).from_address(address)
                cells = np.ctypeslib.as_array(block)
                self.device.space.map(address, cells, Rights.BOTH, "memory of the host")
            self._host[key] = self._host.get(key, 0) + 1
        return address

    def unmap_host(self, address: int, nbytes: int) -> None:
        key = (address, nbytes)
        with self.device.machine.lock:
            self._host[key] -= 1
            if not self._host[key]:
                del self._host[key]
                self.device.space.unmap(address)
                self.device.machine.races.forget(address, nbytes)

    def limit(self) -> int:
        return MEMORY_BYTES
