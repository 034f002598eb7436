"""REF's hardware: queues that execute packets out of the real rings in memory.

It is strict: what hardware would get wrong in silence is a fault that names the packet. So it keeps
the arguments of kernels in a cache, as hardware does, and faults where memory has others by then.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_conformance.refdev.packets import LENGTHS, READ, WRITE, Image, Opcode, join, unpack_image
from tg_core.backend import AccessFault, DeviceError, EmulatedQueue, PacketFault, Rights, TGError

if TYPE_CHECKING:
    from tg_conformance.refdev.driver import RefDriver
    from tg_conformance.refdev.uapi import CreateQueue

__all__ = ["RefExecutor"]

PIECE = 1 << 20
"""Bytes that a copy moves at a time."""


class RefExecutor(EmulatedQueue):
    """One queue.

    Args:
        driver: of the user whose queue it is.
        name: device and queue.
        kind: `COMPUTE` or `COPY`.
        asked: where its ring and words are.
        doorbell: the word that the host stores how far it has written to.
    """

    def __init__(
        self, driver: RefDriver, name: str, kind: str, asked: CreateQueue, doorbell: memoryview
    ) -> None:
        self.name, self.kind = name, kind
        self.space = driver.space
        self.races = driver.machine.races
        self.interrupt = driver.interrupt
        self.bits: int = asked.bits
        self.ring: int = asked.ring
        self.ring_words: int = asked.ring_words
        self.read_ptr: int = asked.read_ptr
        self.doorbell = doorbell
        self.read = self.pushed = 0
        self.indirect: tuple[int, int] | None = None
        """Address of the next packet of an INDIRECT, and where it ends."""
        self.packets = 0
        self.fault = None
        self._peeked: tuple[object, list[int] | None] = (None, None)
        self._images: dict[bytes, Image] = {}
        self._argument_cache: dict[int, bytes] = {}

    def look(self) -> None:
        pushed = self.doorbell[0]
        if pushed != self.pushed:
            # The doorbell gives away what the host had done before it.
            self.pushed = pushed
            self.races.join(self.name, self.races.snapshot())

    def ready(self) -> bool:
        if self.read == self.pushed and self.indirect is None:
            return False
        packet = self._peek()
        if packet is None:
            return False
        if packet[0] >> 16 != Opcode.WAIT or len(packet) != LENGTHS[Opcode.WAIT]:
            return True
        return self._satisfied(packet)

    def step(self) -> None:
        packet = self._peek()
        assert packet is not None
        try:
            opcode = Opcode(packet[0] >> 16)
        except ValueError:
            raise PacketFault(f"{self._place()}: no opcode {packet[0] >> 16:#x}") from None
        if packet[0] & 0xFFFF != LENGTHS[opcode] or len(packet) != LENGTHS[opcode]:
            raise PacketFault(
                f"{self._place()}: {opcode.name} of {packet[0] & 0xFFFF} words, "
                f"expected {LENGTHS[opcode]}"
            )
        try:
            self._execute(opcode, packet)
        except AccessFault as fault:
            raise AccessFault(f"{self._place()}: {opcode.name}: {fault}") from fault
        self.packets += 1
        self._skip(opcode)

    def _execute(self, opcode: Opcode, packet: list[int]) -> None:
        match opcode:
            case Opcode.INDIRECT:
                self._indirect(packet)
            case Opcode.EXEC:
                self._exec(packet)
            case Opcode.COPY:
                self._copy(packet)
            case Opcode.BARRIER:
                self._argument_cache.clear()
            case Opcode.WAIT:
                self._wait(packet)
            case Opcode.TIME:
                self.space.set_word(join(packet, 1), 8, self._clock())
            case Opcode.STORE:
                self._store(packet)

    def state(self) -> str:
        packet = self._peek()
        if packet is None:
            return f"idle after {self.packets} packets"
        name = Opcode(packet[0] >> 16).name if packet[0] >> 16 in LENGTHS else "unknown"
        detail = ""
        if name == "WAIT" and len(packet) == LENGTHS[Opcode.WAIT]:
            address, wanted = join(packet, 1), join(packet, 3)
            detail = f" for {wanted} at {address:#x}, which is {self._signal(address)}"
        return f"at {name}{detail}, {self._place()}"

    def _place(self) -> str:
        where = f"ring word {self.read % self.ring_words}"
        if self.indirect is not None:
            where += f", commands at {self.indirect[0]:#x}"
        return f"{self.name} packet {self.packets} ({where})"

    def _peek(self) -> list[int] | None:
        """Return the words of the next packet, or None if there is none."""
        place = (self.indirect, self.read, self.pushed)
        if self._peeked[0] != place:
            self._peeked = place, self._fetch()
        return self._peeked[1]

    def _fetch(self) -> list[int] | None:
        if self.indirect is not None:
            address, end = self.indirect
            head = self.space.word(address, 4)
            nbytes = min(4 * max(head & 0xFFFF, 1), end - address)
            cells = self.space.access(address, nbytes, Rights.READ)
            words: list[int] = cells.view(np.uint32).tolist()
            return words
        if self.read == self.pushed:
            return None
        head = self._ring_word(0)
        count = min(max(head & 0xFFFF, 1), self.pushed - self.read)
        return [self._ring_word(i) for i in range(count)]

    def _ring_word(self, offset: int) -> int:
        place = (self.read + offset) % self.ring_words
        return self.space.word(self.ring + 4 * place, 4)

    def _skip(self, opcode: Opcode) -> None:
        """Go on to the next packet."""
        if opcode is Opcode.INDIRECT:
            return
        if self.indirect is not None:
            address, end = self.indirect
            address += 4 * LENGTHS[opcode]
            self.indirect = (address, end) if address < end else None
            if self.indirect is None:
                self._pop(LENGTHS[Opcode.INDIRECT])
            return
        self._pop(LENGTHS[opcode])

    def _pop(self, words: int) -> None:
        self.read += words
        self.space.set_word(self.read_ptr, 8, self.read)

    def reset(self) -> None:
        """Forget all packets, and the fault."""
        self.look()
        self.indirect = self.fault = None
        self._pop(self.pushed - self.read)

    def _satisfied(self, packet: list[int]) -> bool:
        return self._signal(join(packet, 1)) >= self._signed(join(packet, 3))

    def _signal(self, address: int) -> int:
        return self._signed(self.space.word(address, 8))

    def _signed(self, value: int) -> int:
        """Return a value as the hardware compares it: its low bits, with a sign."""
        half = 1 << (self.bits - 1)
        return (value & (2 * half - 1) ^ half) - half

    def _host(self, address: int, nbytes: int, right: Rights) -> int:
        """Return where bytes are in this process: what aliases have in common."""
        return self.space.place(address, nbytes, right)

    def _indirect(self, packet: list[int]) -> None:
        if self.indirect is not None:
            raise PacketFault(f"{self._place()}: INDIRECT inside of INDIRECT")
        address, words = join(packet, 1), packet[3]
        if words == 0:
            raise PacketFault(f"{self._place()}: INDIRECT of no words")
        place = self._host(address, 4 * words, Rights.READ)
        self.races.access(
            self.name, f"commands, packet {self.packets}", [(place, 4 * words, False)]
        )
        self.indirect = (address, address + 4 * words)

    def _exec(self, packet: list[int]) -> None:
        if self.kind != "COMPUTE":
            raise PacketFault(f"{self._place()}: EXEC on a copy queue")
        data = self.space.access(join(packet, 1), packet[3], Rights.READ).tobytes()
        image = self._images.get(data)
        if image is None:
            image = self._images[data] = unpack_image(data)
        count = len(image.buffers) + image.variables
        words = self._arguments(join(packet, 4), count)
        buffers: list[Any] = []
        ranges: list[tuple[int, int, bool]] = []
        if count:
            ranges.append((self._host(join(packet, 4), 8 * count, Rights.READ), 8 * count, False))
        for (nbytes, rights), address in zip(image.buffers, words):
            if rights & READ:
                cells = self.space.access(address, nbytes, Rights.READ)
            if rights & WRITE:
                cells = self.space.access(address, nbytes, Rights.WRITE)
            buffers.append(cells)
            write = bool(rights & WRITE)
            place = self._host(address, nbytes, Rights.WRITE if write else Rights.READ)
            ranges.append((place, nbytes, write))
        what = f"kernel {image.name}, packet {self.packets}"
        self.races.access(self.name, what, ranges)
        values = tuple(words[len(image.buffers) :])
        try:
            self._launch(image, buffers, values, tuple(packet[6:9]), tuple(packet[9:12]))
        except (TGError, DeviceError) as error:
            raise PacketFault(f"{self._place()}: {error}") from error

    def _arguments(self, address: int, count: int) -> list[int]:
        """Return the arguments of a kernel, out of the cache where it has them."""
        data = self.space.access(address, 8 * count, Rights.READ).tobytes()
        if self._argument_cache.setdefault(address, data) != data:
            raise PacketFault(
                f"{self._place()}: the arguments at {address:#x} were read before they changed, "
                "and no BARRIER came since"
            )
        words: list[int] = np.frombuffer(data, np.int64).tolist()
        return words

    def _launch(
        self,
        image: Image,
        buffers: list[Any],
        values: tuple[int, ...],
        global_size: tuple[int, ...],
        local_size: tuple[int, ...],
    ) -> None:
        image.program(buffers, values, global_size, local_size)

    def _copy(self, packet: list[int]) -> None:
        nbytes = join(packet, 5)
        if nbytes == 0:
            raise PacketFault(f"{self._place()}: COPY of no bytes")
        target = self.space.access(join(packet, 1), nbytes, Rights.WRITE)
        source = self.space.access(join(packet, 3), nbytes, Rights.READ)
        ends = [
            (self._host(join(packet, 3), nbytes, Rights.READ), nbytes, False),
            (self._host(join(packet, 1), nbytes, Rights.WRITE), nbytes, True),
        ]
        self.races.access(self.name, f"copy, packet {self.packets}", ends)
        for start in range(0, nbytes, PIECE):
            piece = slice(start, min(start + PIECE, nbytes))
            # Pages that nobody wrote take no memory; large copies shall leave them so.
            if nbytes <= PIECE or not np.array_equal(target[piece], source[piece]):
                target[piece] = source[piece]

    def _wait(self, packet: list[int]) -> None:
        signal = self._host(join(packet, 1), 8, Rights.READ)
        self.races.acquire(self.name, signal, self._signed(join(packet, 3)))

    def _clock(self) -> int:
        return time.perf_counter_ns()

    def _store(self, packet: list[int]) -> None:
        address, value = join(packet, 1), join(packet, 3)
        signal = self._host(address, 8, Rights.WRITE)
        # Two stores to one signal must be ordered like other writes, or it may go back.
        self.races.access(self.name, f"store, packet {self.packets}", [(signal, 8, True)])
        self.races.release(self.name, signal, self._signed(value))
        self.space.set_word(address, 8, value & (1 << self.bits) - 1)
        self.interrupt()
