"""Emulated accelerators with queues, for core's own tests: small, strict, and of several types.

Types do not reach each other's memory, only memory of the host. A packet is a header
`opcode << 16 | words` and operands, all of 32 bits; addresses and values take two words.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from sample_plugins import installed, plugin

from tg_core.device import Buffer, BufferOptions
from tg_core.device.interpreter import InterpreterProgram
from tg_core.device.queues import (
    HCQAllocator,
    HCQBuffer,
    HCQCompiled,
    HWQueue,
    Launch,
    Stream,
    Word,
)
from tg_core.dtype import dtypes, to_dtype
from tg_core.engine import realize
from tg_core.errors import DeviceError
from tg_core.hcq import link_queues, programs
from tg_core.plugins import Capability, QueueDescription
from tg_core.plugins.records import PluginSource
from tg_core.plugins.registry import Registry
from tg_core.support.emulation import (
    AddressSpace,
    EmulatedQueue,
    HostWatch,
    Machine,
    PacketFault,
    Rights,
)
from tg_core.uop.ops import Ops, ProgramInfo, UOp

INDIRECT, EXEC, COPY, BARRIER, WAIT, TIME, STORE = range(1, 8)
LENGTHS = {INDIRECT: 4, EXEC: 12, COPY: 7, BARRIER: 1, WAIT: 5, TIME: 3, STORE: 5}
SPAN = 1 << 40
BASE = 1 << 52
CPU = PluginSource("tg-cpu", "cpu", "tg_cpu.plugin", "1")

MACHINE = Machine()


def header(opcode: int) -> int:
    return opcode << 16 | LENGTHS[opcode]


class ToyDevice(HCQCompiled):
    """Base of the types; what they can do differs."""

    RING_BYTES = 1 << 10
    POOL_BYTES = 1 << 16
    VISIBLE: ClassVar[bool] = True
    """Whether the host sees its memory."""
    OVERLAP: ClassVar[bool] = False
    """Whether kernels in flight may run in any order."""

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        # an interface would have it
        self.watch = HostWatch(MACHINE)
        self.space = AddressSpace(self.name)
        self.executors: list[ToyExecutor] = []
        self.copied: dict[int, int] = {}
        """Bytes by number of the copy queue."""

    def create_queue(self, kind: str, index: int, ring_bytes: int) -> QueueDescription | None:
        if index >= self.QUEUE_COUNTS[kind]:
            return None
        parts = [self._shared(ring_bytes // 4, 32), *[self._shared(1, 64) for _ in range(4)]]
        memory = QueueDescription(*parts)
        executor = ToyExecutor(self, kind, index, memory)
        self.executors.append(executor)
        MACHINE.add(executor)
        return memory

    def _shared(self, size: int, bits: int) -> Buffer:
        options = BufferOptions(host_access=True, uncached=True, host=True)
        dtype = dtypes.uint32 if bits == 32 else dtypes.uint64
        return Buffer(self.name, size, dtype, options=options).copyin(bytes(size * bits // 8))

    def image(self, name: str, binary: bytes, info: ProgramInfo) -> bytes:
        outs = [slot in info.outs for slot in info.params]
        return json.dumps([outs, binary.decode()]).encode()

    def sleep(self, seconds: float) -> bool:
        moved = MACHINE.advance()
        for executor in self.executors:
            if executor.fault is not None:
                raise self.fail(f"fault: {executor.fault}")
        return moved

    def hang_report(self) -> str:
        return MACHINE.report(list(MACHINE.queues))

    def finalize(self) -> None:
        MACHINE.remove(list(self.executors))


class ToyAllocator(HCQAllocator):
    """Memory at addresses that nothing else has."""

    device: ToyDevice
    following = BASE

    def create(self, nbytes: int, options: BufferOptions) -> HCQBuffer:
        block = np.full(nbytes + 128, 0xA5, np.uint8)
        cells = block[-block.ctypes.data % 128 :][:nbytes]
        address = int(cells.ctypes.data)
        host: memoryview | None = cells.data
        if not options.host:
            address = ToyAllocator.following
            ToyAllocator.following += nbytes + -nbytes % 4096 + 4096
            host = cells.data if self.device.VISIBLE or options.host_access else None
        self.device.space.map(address, cells, Rights.BOTH, "memory")
        return HCQBuffer(self.device, address, nbytes, host, cells)

    def destroy(self, buffer: HCQBuffer) -> None:
        self.device.space.unmap(buffer.address)
        MACHINE.races.forget(int(buffer.meta.ctypes.data), buffer.nbytes)

    def map_peer(self, buffer: HCQBuffer) -> int:
        if buffer.owner.type != self.device.type:
            raise DeviceError(f"{self.device.name}: it never reaches {buffer.owner.name}")
        self.device.space.map(buffer.address, buffer.meta, Rights.BOTH, buffer.owner.name)
        return buffer.address

    def unmap_peer(self, buffer: HCQBuffer) -> None:
        self.device.space.unmap(buffer.address)

    def map_host(self, address: int, nbytes: int) -> int:
        cells = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
        self.device.space.map(address, cells, Rights.BOTH, "memory of the host")
        return address

    def unmap_host(self, address: int, nbytes: int) -> None:
        self.device.space.unmap(address)
        MACHINE.races.forget(address, nbytes)


class ToyQueue(HWQueue):
    """Encodes for both kinds."""

    def exec(self, launch: Launch) -> None:
        arguments = self.blob(*launch.buffers, *[v.cast(dtypes.int64) for v in launch.values])
        self.append(header(EXEC), launch.image, launch.image_bytes, arguments)
        self.append(*launch.global_size, *launch.local_size)

    def copy(self, destination: UOp, source: UOp, nbytes: int) -> None:
        self.append(header(COPY), destination, source, *self.wide(nbytes))

    def barrier(self) -> None:
        self.append(header(BARRIER))

    def wait(self, address: UOp, value: Word) -> None:
        self.append(header(WAIT), address, *self._value(value))

    def timestamp(self, address: UOp) -> None:
        self.append(header(TIME), address)

    def store(self, address: UOp, value: Word) -> None:
        self.append(header(STORE), address, *self._value(value))

    def _value(self, value: Word) -> tuple[Word, ...]:
        return self.wide(value) if isinstance(value, int) else (value,)

    def room(self) -> UOp:
        put, read = (self._word(name) for name in ("put_value", "read_ptr"))
        return put - read + LENGTHS[INDIRECT] <= self._size()

    def _word(self, name: str) -> UOp:
        return self.part(name, 1).index(UOp.const(0)).load().cast(dtypes.int64)

    def _size(self) -> int:
        return self.device.queue(self.kind, self.index).ring.size

    def submit(self, stream: Stream) -> UOp:
        size = UOp.const(self._size(), dtypes.int64)
        ring, start = self.part("ring", self._size(), bits=32), self._word("put_value")
        words = (
            UOp.const(header(INDIRECT), dtypes.uint32),
            stream.address.cast(dtypes.uint32),
            (stream.address >> 32).cast(dtypes.uint32),
            stream.count.cast(dtypes.uint32),
        )
        effect = UOp(
            Ops.GROUP,
            tuple(
                ring.index((start + i).alu(Ops.FLOORMOD, size)).store(word, stream.ready)
                for i, word in enumerate(words)
            ),
        )
        following = (start + len(words)).cast(dtypes.uint64)
        for name in ("put_value", "doorbell"):
            cell = self.part(name, 1).after(effect).index(UOp.const(0))
            effect = cell.store(following, stream.ready)
        return effect


class ToyExecutor(EmulatedQueue):
    """Executes packets out of the rings."""

    def __init__(self, device: ToyDevice, kind: str, index: int, memory: QueueDescription) -> None:
        self.device, self.kind, self.index, self.memory = device, kind, index, memory
        self.name = f"{device.name} {kind}:{index}"
        self.fault = None
        self.read = self.pushed = self.clock = 0
        self.todo: list[list[int]] = []
        self.flying: list[tuple[str, list[int]]] = []
        """Kernels that may run in any order, each an actor of its own."""
        self.landed: list[str] = []

    def look(self) -> None:
        pushed = int(self.memory.doorbell.opaque.host_bytes().cast("Q")[0])
        if pushed == self.pushed:
            return
        self.pushed = pushed
        MACHINE.races.join(self.name, MACHINE.races.snapshot())

    def ready(self) -> bool:
        if not self.todo and self.read < self.pushed:
            self._fetch()
        if not self.todo:
            return False
        packet = self.todo[0]
        if packet[0] >> 16 != WAIT:
            return True
        # what is in flight may be what is waited for
        return bool(self.flying) or self._signal(_wide(packet, 1)) >= _wide(packet, 3)

    def _signal(self, address: int) -> int:
        return self.device.space.word(address, 8)

    def _fetch(self) -> None:
        ring = self.memory.ring.opaque.host_bytes().cast("I")
        words = [ring[(self.read + i) % len(ring)] for i in range(LENGTHS[INDIRECT])]
        cells = self.device.space.access(_wide(words, 1), 4 * words[3], Rights.READ)
        place = int(cells.ctypes.data)
        MACHINE.races.access(self.name, "commands", [(place, 4 * words[3], False)])
        data, at = cells.view(np.uint32).tolist(), 0
        while at < len(data):
            length = data[at] & 0xFFFF
            if LENGTHS.get(data[at] >> 16) != length:
                raise PacketFault(f"{self.name}: no packet {data[at]:#x} at word {at}")
            self.todo.append(data[at : at + length])
            at += length

    def step(self) -> None:
        packet = self.todo[0]
        opcode = packet[0] >> 16
        if opcode in (WAIT, STORE, TIME) and self.flying:
            self._land()
            return
        self._merge()
        del self.todo[0]
        if opcode == EXEC and self.device.OVERLAP:
            actor = f"{self.name} launch {len(self.flying)}"
            MACHINE.races.fork(self.name, actor)
            self.flying.append((actor, packet))
        elif opcode == EXEC:
            self._exec(self.name, packet)
        elif opcode == COPY:
            self._copy(packet)
        elif opcode == WAIT:
            place = self.device.space.access(_wide(packet, 1), 8, Rights.READ)
            MACHINE.races.acquire(self.name, int(place.ctypes.data), _wide(packet, 3))
        elif opcode == TIME:
            self.clock += 10
            self.device.space.set_word(_wide(packet, 1), 8, self.clock)
        elif opcode == STORE:
            place = self.device.space.access(_wide(packet, 1), 8, Rights.WRITE)
            MACHINE.races.release(self.name, int(place.ctypes.data), _wide(packet, 3))
            self.device.space.set_word(_wide(packet, 1), 8, _wide(packet, 3))
        if not self.todo:
            self.read += LENGTHS[INDIRECT]
            self.memory.read_ptr.opaque.host_bytes().cast("Q")[0] = self.read

    def _land(self) -> None:
        """Run a kernel in flight, the last one given first."""
        actor, packet = self.flying.pop()
        self.landed.append(actor)
        self._exec(actor, packet)

    def _merge(self) -> None:
        if not self.flying:
            for actor in self.landed:
                MACHINE.races.merge(self.name, actor)
            self.landed.clear()

    def _exec(self, actor: str, packet: list[int]) -> None:
        space = self.device.space
        text = space.access(_wide(packet, 1), packet[3], Rights.READ).tobytes()
        outs, binary = json.loads(text)
        program = InterpreterProgram("toy", binary.encode())
        nodes = [json.loads(binary)["nodes"][n] for n in json.loads(binary)["arguments"]]
        raw = space.access(_wide(packet, 4), 8 * len(nodes), Rights.READ)
        words = np.frombuffer(raw.tobytes(), np.int64).tolist()
        buffers, ranges = [], []
        for (_, dtype, _, _, size), address, out in zip(nodes, words, outs):
            nbytes = size * to_dtype(dtype).itemsize
            cells = space.access(address, nbytes, Rights.WRITE if out else Rights.READ)
            buffers.append(cells)
            ranges.append((int(cells.ctypes.data), nbytes, out))
        MACHINE.races.access(actor, "kernel", ranges)
        program(buffers, tuple(words[len(outs) :]), tuple(packet[6:9]), tuple(packet[9:12]))

    def _copy(self, packet: list[int]) -> None:
        nbytes = _wide(packet, 5)
        target = self.device.space.access(_wide(packet, 1), nbytes, Rights.WRITE)
        source = self.device.space.access(_wide(packet, 3), nbytes, Rights.READ)
        ends = [(int(source.ctypes.data), nbytes, False), (int(target.ctypes.data), nbytes, True)]
        MACHINE.races.access(self.name, "copy", ends)
        target[:] = source
        copied = self.device.copied
        copied[self.index] = copied.get(self.index, 0) + nbytes

    def state(self) -> str:
        return f"{len(self.todo)} packets to go, at {self.todo[:1]}"


def _wide(packet: list[int], at: int) -> int:
    return packet[at] | packet[at + 1] << 32


class PlainToy(ToyDevice):
    """TOYA: one queue of each kind."""


class WideToy(ToyDevice):
    """TOYB: three copy queues; kernels overlap; the host does not see its memory."""

    QUEUE_COUNTS = {"COMPUTE": 1, "COPY": 3}
    STAGING_BYTES = 1 << 12
    VISIBLE = False
    OVERLAP = True


@contextmanager
def toys() -> Iterator[None]:
    """Install the types TOYA and TOYB beside the CPU."""
    sys.modules["toy_queues_types"] = sys.modules[__name__]

    def register(registry: Registry) -> None:
        shared = (
            Capability.PROGRAMS,
            Capability.QUEUES,
            Capability.COPY_QUEUE,
            Capability.TIMESTAMPS,
        )
        for name, cls in (("TOYA", "PlainToy"), ("TOYB", "WideToy")):
            registry.device_type(name, f"toy_queues_types:{cls}", priority=-1)
            registry.allocator(name, "toy_queues_types:ToyAllocator")
            registry.renderer(name, "PYTHON", "tg_core.renderer.interpreter:InterpreterRenderer")
            registry.queue(name, "COMPUTE", "toy_queues_types:ToyQueue")
            registry.queue(name, "COPY", "toy_queues_types:ToyQueue")
            registry.capability(name, *shared)
        registry.capability("TOYB", Capability.OVERLAPPING_LAUNCHES)

    def create_queue(
        device: Any, kind: str, index: int, ring_bytes: int
    ) -> QueueDescription | None:
        return device.create_queue(kind, index, ring_bytes)

    MACHINE.reseed(0)
    try:
        with installed(CPU, plugin("toys", register, create_queue=create_queue)):
            yield
    finally:
        # what is linked and loaded belongs to devices that are gone
        programs._programs.clear()
        link_queues._templates.clear()
        realize._linked.clear()
        # what is left is in cycles, and later tests count memory
        gc.collect()
