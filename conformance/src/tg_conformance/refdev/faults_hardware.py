"""What hardware can get wrong. Each function makes a wrong method out of the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_conformance.refdev.packets import WRITE, Opcode, join, split

if TYPE_CHECKING:
    from tg_conformance.refdev.executor import RefExecutor
    from tg_conformance.refdev.packets import Image

__all__ = [
    "aligned_target",
    "arguments_before",
    "asleep",
    "backward_clock",
    "backwards",
    "equal_only",
    "flushed_subnormals",
    "group_missing",
    "half_reset",
    "last_byte_lost",
    "late_wrap",
    "launched_twice",
    "low_word",
    "reset_signal",
    "short_size",
    "slow_clock",
    "store_first",
    "stuck_at_kernels",
    "truncated_halves",
    "untold_position",
    "whole_words",
    "without_effect",
]

Method = Callable[..., Any]
Packet = list[int]
Sizes = tuple[int, ...]

_LAST_TIME = 1 << 62


def without_effect(right: Method) -> Method:
    """Do nothing."""

    def wrong(self: RefExecutor, packet: Packet) -> None:
        pass

    return wrong


def late_wrap(right: Method) -> Method:
    """Skip a word at the end of the ring."""

    def wrong(self: RefExecutor, offset: int) -> int:
        cut = self.read % self.ring_words + offset >= self.ring_words
        word: int = right(self, offset + 1 if cut else offset)
        return word

    return wrong


def arguments_before(right: Method) -> Method:
    """Keep arguments for the launch that comes next."""
    kept: dict[tuple[RefExecutor, int], list[int]] = {}

    def wrong(self: RefExecutor, address: int, count: int) -> list[int]:
        words: list[int] = right(self, address, count)
        before, kept[self, count] = kept.get((self, count), words), words
        return before

    return wrong


def _copies(change: Callable[[int, int, int], tuple[int, int, int]]) -> Callable[[Method], Method]:
    """Return a fault of copies: other addresses and another size, or none where that is 0."""

    def damage(right: Method) -> Method:
        def wrong(self: RefExecutor, packet: Packet) -> None:
            target, source, nbytes = change(join(packet, 1), join(packet, 3), join(packet, 5))
            if nbytes:
                right(self, [packet[0], *split(target), *split(source), *split(nbytes)])

        return wrong

    return damage


def _without_last_byte(target: int, source: int, nbytes: int) -> tuple[int, int, int]:
    return target, source, nbytes - 1


def _without_tail(target: int, source: int, nbytes: int) -> tuple[int, int, int]:
    return target, source, nbytes & ~3


def _to_word(target: int, source: int, nbytes: int) -> tuple[int, int, int]:
    return target & ~3, source, nbytes


def _with_low_word(target: int, source: int, nbytes: int) -> tuple[int, int, int]:
    return target, source, nbytes & 0xFFFFFFFF


def _the_other_way(target: int, source: int, nbytes: int) -> tuple[int, int, int]:
    return source, target, nbytes


last_byte_lost = _copies(_without_last_byte)
whole_words = _copies(_without_tail)
aligned_target = _copies(_to_word)
short_size = _copies(_with_low_word)
backwards = _copies(_the_other_way)


def backward_clock(right: Method) -> Method:
    """Count down."""

    def wrong(self: RefExecutor) -> int:
        now: int = right(self)
        return _LAST_TIME - now

    return wrong


def slow_clock(right: Method) -> Method:
    """Count thousands of what is declared."""

    def wrong(self: RefExecutor) -> int:
        now: int = right(self)
        return now * 1000

    return wrong


def asleep(right: Method) -> Method:
    """Forget a queue once it had to wait."""
    waiting: dict[RefExecutor, int] = {}

    def wrong(self: RefExecutor) -> bool:
        able: bool = right(self)
        packet = self._peek()
        if packet is not None and not able:
            waiting[self] = self.packets
        return able and waiting.get(self) != self.packets

    return wrong


def equal_only(right: Method) -> Method:
    """Compare for equality."""

    def wrong(self: RefExecutor, packet: Packet) -> bool:
        return self._signal(join(packet, 1)) == self._signed(join(packet, 3))

    return wrong


def reset_signal(right: Method) -> Method:
    """Take the signal away from others that wait for it."""

    def wrong(self: RefExecutor, packet: Packet) -> None:
        right(self, packet)
        self.space.set_word(join(packet, 1), 8, 0)

    return wrong


def store_first(right: Method) -> Method:
    """Let a signal overtake the work before it."""
    made: set[tuple[RefExecutor, int]] = set()

    def wrong(self: RefExecutor) -> None:
        packet = self._peek()
        assert packet is not None
        if (self, self.packets) in made:
            self.packets += 1
            self._skip(Opcode.STORE)
            return
        if self.indirect is not None and packet[0] >> 16 in (Opcode.EXEC, Opcode.COPY):
            address, end = self.indirect
            self.indirect = (address + 4 * len(packet), end)
            following = self._peek() if self.indirect[0] < end else None
            if following is not None and following[0] >> 16 == Opcode.STORE:
                self._store(following)
                made.add((self, self.packets + 1))
            self.indirect = (address, end)
        right(self)

    return wrong


def low_word(right: Method) -> Method:
    """Keep 32 bits."""

    def wrong(self: RefExecutor, packet: Packet) -> None:
        right(self, [*packet[:4], 0])

    return wrong


def stuck_at_kernels(right: Method) -> Method:
    """Never begin a kernel."""

    def wrong(self: RefExecutor) -> bool:
        packet = self._peek()
        at_kernel = packet is not None and packet[0] >> 16 == Opcode.EXEC
        able: bool = right(self)
        return able and not at_kernel

    return wrong


def group_missing(right: Method) -> Method:
    """Launch one group less along the first axis that has several."""

    def wrong(
        self: RefExecutor,
        image: Image,
        buffers: list[Any],
        values: Sizes,
        groups: Sizes,
        *rest: Any,
    ) -> None:
        several = [axis for axis, size in enumerate(groups) if size > 1]
        sizes = list(groups)
        for axis in several[:1]:
            sizes[axis] -= 1
        right(self, image, buffers, values, tuple(sizes), *rest)

    return wrong


def launched_twice(right: Method) -> Method:
    """Launch each kernel again."""

    def wrong(self: RefExecutor, *launch: Any) -> None:
        right(self, *launch)
        right(self, *launch)

    return wrong


def _results(
    change: Callable[[np.ndarray[Any, Any]], None], dtype: str
) -> Callable[[Method], Method]:
    """Return a fault that changes what kernels write into buffers of a dtype."""

    def damage(right: Method) -> Method:
        def wrong(self: RefExecutor, image: Image, buffers: list[Any], *rest: Any) -> None:
            right(self, image, buffers, *rest)
            for (_, rights), name, cells in zip(image.buffers, image.dtypes, buffers, strict=True):
                if rights & WRITE and name == dtype:
                    change(cells)

        return wrong

    return damage


def _truncate(cells: np.ndarray[Any, Any]) -> None:
    codes = cells[: cells.nbytes // 2 * 2].view(np.uint16)
    codes[:] = np.where((codes & 0x7FFF) < 0x7C00, codes & 0xFFFE, codes)


def _flush(cells: np.ndarray[Any, Any]) -> None:
    codes = cells[: cells.nbytes // 4 * 4].view(np.uint32)
    codes[:] = np.where((codes & 0x7F800000) == 0, codes & 0x80000000, codes)


truncated_halves = _results(_truncate, "float16")
flushed_subnormals = _results(_flush, "float32")


def untold_position(right: Method) -> Method:
    """Go on without telling the host."""

    def wrong(self: RefExecutor, words: int) -> None:
        self.read += words

    return wrong


def half_reset(right: Method) -> Method:
    """Forget the fault alone."""

    def wrong(self: RefExecutor) -> None:
        self.fault = None

    return wrong
