"""How operations become REF's packets, and how packets are pushed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_conformance.refdev.packets import LENGTHS, Opcode, header
from tg_core.backend import HWQueue, Ops, UOp, dtypes

if TYPE_CHECKING:
    from tg_core.backend import Launch, Stream, Word

__all__ = ["RefComputeQueue", "RefCopyQueue", "RefQueue"]

PUSHED = LENGTHS[Opcode.INDIRECT]
"""Words that a submission takes in the ring."""


class RefQueue(HWQueue):
    """What both kinds of queue can do."""

    def barrier(self) -> None:
        self.append(header(Opcode.BARRIER))

    def wait(self, address: UOp, value: Word) -> None:
        self.append(header(Opcode.WAIT), address, *self._value(value))

    def timestamp(self, address: UOp) -> None:
        self.append(header(Opcode.TIME), address)

    def store(self, address: UOp, value: Word) -> None:
        self.append(header(Opcode.STORE), address, *self._value(value))

    def _value(self, value: Word) -> tuple[Word, ...]:
        return self.wide(value) if isinstance(value, int) else (value,)

    def room(self) -> UOp:
        zero = UOp.const(0)
        put = self.part("put_value", 1).index(zero).load().cast(dtypes.int64)
        read = self.part("read_ptr", 1).index(zero).load().cast(dtypes.int64)
        return put - read + PUSHED <= self._ring_words()

    def submit(self, stream: Stream) -> UOp:
        size, zero = self._ring_words(), UOp.const(0)
        ring = self.part("ring", size, bits=32)
        position = self.part("put_value", 1).index(zero).load()
        start = position.cast(dtypes.int64)
        words = (
            UOp.const(header(Opcode.INDIRECT), dtypes.uint32),
            stream.address.cast(dtypes.uint32),
            (stream.address >> 32).cast(dtypes.uint32),
            stream.count.cast(dtypes.uint32),
        )
        written: list[UOp] = []
        for i, word in enumerate(words):
            place = (start + i).alu(Ops.FLOORMOD, UOp.const(size, dtypes.int64))
            written.append(ring.index(place).store(word, stream.ready))
        following = position + UOp.const(PUSHED, dtypes.uint64)
        effect = UOp(Ops.GROUP, tuple(written))
        for name in ("put_value", "write_ptr", "doorbell"):
            cell = self.part(name, 1).after(effect).index(zero)
            effect = cell.store(following, stream.ready)
        return effect

    def _ring_words(self) -> int:
        return self.device.queue(self.kind, self.index).ring.size


class RefComputeQueue(RefQueue):
    """Launches kernels."""

    def exec(self, launch: Launch) -> None:
        arguments = self.blob(*launch.buffers, *[v.cast(dtypes.int64) for v in launch.values])
        self.append(header(Opcode.EXEC), launch.image, launch.image_bytes, arguments)
        self.append(*launch.global_size, *launch.local_size)


class RefCopyQueue(RefQueue):
    """Copies."""

    def copy(self, destination: UOp, source: UOp, nbytes: int) -> None:
        self.append(header(Opcode.COPY), destination, source, *self.wide(nbytes))
