"""Turning queue operations into command words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tg_core.dtype import dtypes
from tg_core.errors import CompileError, DeviceError
from tg_core.uop.ops import Ops, ParamArg, UOp

if TYPE_CHECKING:
    from tg_core.device.queues.compiled import HCQCompiled
    from tg_core.dtype import DType
    from tg_core.uop.ops import ProgramInfo

__all__ = ["BLOB_ALIGNMENT", "HWQueue", "Launch", "Stream", "Word", "placeholder", "width"]

Word: TypeAlias = int | UOp
"""A number that is known, or a node that stands for one known when a batch is linked or run."""

BLOB_ALIGNMENT = 128
"""Alignment of nested blobs in bytes."""


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel, as an encoder gets it."""

    info: ProgramInfo
    image: UOp
    """Address of the kernel's image."""
    image_bytes: int
    buffers: tuple[UOp, ...]
    """Addresses, in the order of `ProgramInfo.params`."""
    values: tuple[UOp, ...]
    """Variables, in the order of `ProgramInfo.variables`."""
    global_size: tuple[Word, ...]
    local_size: tuple[Word, ...]


@dataclass(frozen=True)
class Stream:
    """Where the words of one submission are, for the host program that pushes them."""

    commands: UOp
    """Storage of 32-bit words, on the device."""
    address: UOp
    """Address of the first word, on the device."""
    start: UOp
    """Position of the first word in the storage."""
    count: UOp
    """How many words; 0 where nothing may be pushed, so that loops over it do nothing."""
    ready: UOp
    """Whether anything may be pushed: the gate of every store outside of such loops."""


def placeholder(tag: tuple[object, ...], dtype: DType, size: int, device: str) -> UOp:
    """Return memory that linking finds by name.

    Args:
        tag: the name, first what kind of memory it is.
        dtype: of its words.
        size: how many.
        device: whose it is.
    """
    name = "_".join(str(part).lower().replace(":", "_") for part in tag)
    return UOp(Ops.PARAM, (), ParamArg(-1, dtype, (size,), device, name), tag)


def width(word: UOp) -> int:
    """Return how many bytes a word takes: 8 for addresses and 64-bit values, else 4."""
    return 8 if word.dtype.itemsize == 8 else 4


class HWQueue:
    """Encodes the operations of one submission to one queue.

    A backend implements the operations its queue has by appending words, and `submit`. State lives
    for one encoding only; nothing here may look at real addresses.

    Args:
        device: the opened device.
        kind: the kind of the queue.
        index: which of that kind.
    """

    def __init__(self, device: HCQCompiled, kind: str, index: int) -> None:
        self.device, self.kind, self.index = device, kind, index
        self.data = bytearray()
        self.patches: list[tuple[int, UOp]] = []
        """Byte positions of words that are not known yet."""
        self.blobs: list[tuple[UOp, list[Word]]] = []

    def append(self, *words: Word) -> int:
        """Append words; returns the length in bytes.

        A number takes 4 bytes, cut to its lowest bits; a node takes 4 or 8 (see `width`).
        """
        for word in words:
            self._append_to(self.data, self.patches, word)
        return len(self.data)

    def wide(self, number: int) -> tuple[int, int]:
        """Return a 64-bit number as two words, the low one first."""
        return number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF

    def blob(self, *words: Word) -> UOp:
        """Put words aside, aligned, beside the commands; returns their address."""
        place = ("blob", self.kind, self.index, len(self.blobs))
        node = UOp(Ops.GETADDR, (), (self.device.name, place))
        self.blobs.append((node, list(words)))
        return node

    def finish(self) -> tuple[bytes, list[tuple[int, UOp]], int, dict[UOp, int]]:
        """Return all bytes, what is to be patched, the length of the commands in bytes, and where
        each blob begins.
        """
        length = len(self.data)
        places: dict[UOp, int] = {}
        for node, words in self.blobs:
            self.data.extend(bytes(-len(self.data) % BLOB_ALIGNMENT))
            places[node] = len(self.data)
            self.append(*words)
        return bytes(self.data), self.patches, length, places

    @staticmethod
    def _append_to(data: bytearray, patches: list[tuple[int, UOp]], word: Word) -> None:
        if isinstance(word, int):
            data.extend((word & 0xFFFFFFFF).to_bytes(4, "little"))
            return
        known = word.const_value
        size = width(word)
        if isinstance(known, int):
            data.extend((known & ((1 << 8 * size) - 1)).to_bytes(size, "little"))
            return
        patches.append((len(data), word))
        data.extend(bytes(size))

    def exec(self, launch: Launch) -> None:
        """Launch a kernel."""
        raise self._missing("exec")

    def copy(self, destination: UOp, source: UOp, nbytes: int) -> None:
        """Copy bytes between two addresses."""
        raise self._missing("copy")

    def barrier(self) -> None:
        """Make earlier writes of host and device visible to what follows; nothing by default."""

    def wait(self, address: UOp, value: Word) -> None:
        """Stall until the word at an address is at least a value."""
        raise self._missing("wait")

    def wait_equal(self, address: UOp, value: Word) -> None:
        """Stall until the word at an address is a value; only for what rules of a plugin emit."""
        raise self._missing("wait_equal")

    def timestamp(self, address: UOp) -> None:
        """Write the 64-bit clock once what precedes is done."""
        raise self._missing("timestamp")

    def store(self, address: UOp, value: Word) -> None:
        """Write a value once what precedes is done and can be seen by all."""
        raise self._missing("store")

    def submit(self, stream: Stream) -> UOp:
        """Return the host IR that pushes the words to the device: an effect, or several in a
        GROUP. The doorbell comes after everything else.
        """
        raise self._missing("submit")

    def room(self) -> UOp | None:
        """Return whether the ring has room for what `submit` writes, as a bool of host IR; None if
        it always has.
        """
        return None

    def part(self, name: str, size: int, bits: int = 64) -> UOp:
        """Return memory of the queue, as storage for the host program.

        Args:
            name: `ring`, `read_ptr`, `write_ptr`, `doorbell`, `put_value`, or an extra name.
            size: how many words.
            bits: how wide they are.
        """
        dtype = dtypes.uint32 if bits == 32 else dtypes.uint64
        return placeholder(("queue", self.kind, self.index, name), dtype, size, self.device.name)

    def _missing(self, what: str) -> CompileError | DeviceError:
        return CompileError(
            f"{self.device.name}: {type(self).__name__} of queue {self.kind}:{self.index} "
            f"has no {what}"
        )
