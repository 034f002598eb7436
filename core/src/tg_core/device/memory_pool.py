"""The layer over every allocator: keeps freed memory for reuse, counts, explains exhaustion."""

from __future__ import annotations

import gc
import threading
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING, Any

from tg_core.device.counters import GlobalCounters
from tg_core.errors import OutOfMemory

if TYPE_CHECKING:
    from tg_core.device.api import Allocator, BufferOptions

__all__ = ["MemoryPool", "format_bytes"]

TOP_HOLDERS = 5

_AT_ONCE = (False,)
"""Argument of `acquire` that does not wait."""


class MemoryPool:
    """Memory of one device, in use or kept for reuse.

    Freed blocks are kept by exact size and options and the least recently freed are released first
    once more than `keep_bytes` are kept. A block is freed by the collector at any time, also in the
    middle of a method of this class; so freeing only appends to a queue, and the queue is worked
    off by whoever holds the lock.

    Args:
        allocator: where memory comes from.
        name: the device, for messages.
        keep_bytes: how much freed memory to keep; 0 keeps none.
        counted: whether what is held takes memory of this machine or its devices.
    """

    def __init__(
        self, allocator: Allocator, name: str, keep_bytes: int, counted: bool = True
    ) -> None:
        self._allocator = allocator
        self._name = name
        self._keep_bytes = keep_bytes
        self._counted = counted
        self._kept: OrderedDict[tuple[int, BufferOptions], list[Any]] = OrderedDict()
        self._returned: deque[tuple[Any, int, BufferOptions]] = deque()
        self._lock = threading.Lock()
        self._holders: dict[int, tuple[int, str]] = {}
        self.used = 0
        """Bytes held by buffers."""
        self.cached = 0
        """Bytes kept for reuse."""

    def alloc(self, nbytes: int, options: BufferOptions, label: str = "") -> Any:
        """Return memory, reused where a block of the size is kept.

        Args:
            nbytes: how much, in bytes.
            options: how it is wanted.
            label: the dtype of what holds it, for the message of `OutOfMemory`.

        Raises:
            OutOfMemory: there is no room, also after everything kept was released and garbage was
                collected.
        """
        size = max(nbytes, 1)
        opaque = self._reuse(size, options)
        if opaque is None:
            opaque = self._alloc_or_explain(size, options)
        if self._counted and options.external is None:
            self._holders[id(opaque)] = (nbytes, label)
            self.used += nbytes
            GlobalCounters.take(nbytes)
        return opaque

    def free(self, opaque: Any, nbytes: int, options: BufferOptions) -> None:
        """Take memory back. Safe to call from a finalizer, on any thread."""
        if self._counted and options.external is None:
            self._holders.pop(id(opaque), None)
            self.used -= nbytes
            GlobalCounters.give(nbytes)
        self._returned.append((opaque, max(nbytes, 1), options))
        taken: list[bool] = []
        try:
            # in one instruction: an interrupt between two would leave the lock taken for good
            taken.extend(map(self._lock.acquire, _AT_ONCE))
            if True in taken:
                self._work_off()
        finally:
            if True in taken:
                self._lock.release()

    def release_cached(self) -> int:
        """Release every block kept for reuse; returns how many bytes that were."""
        with self._lock:
            self._work_off()
            before = self.cached
            while self._kept:
                self._release_oldest()
            return before - self.cached

    def _reuse(self, size: int, options: BufferOptions) -> Any:
        if self._keep_bytes == 0:
            return None
        with self._lock:
            self._work_off()
            key = (size, options)
            blocks = self._kept.get(key)
            if not blocks:
                return None
            opaque = blocks.pop()
            if not blocks:
                del self._kept[key]
            self.cached -= size
            return opaque

    def _work_off(self) -> None:
        """Keep or release the blocks that were returned; the caller holds the lock."""
        while self._returned:
            opaque, size, options = self._returned.popleft()
            if options.external is not None or size > self._keep_bytes:
                self._allocator.free(opaque, size, options)
                continue
            key = (size, options)
            self._kept.setdefault(key, []).append(opaque)
            self._kept.move_to_end(key)
            self.cached += size
            while self.cached > self._keep_bytes:
                self._release_oldest()

    def _release_oldest(self) -> None:
        key, blocks = next(iter(self._kept.items()))
        size, options = key
        opaque = blocks.pop(0)
        if not blocks:
            del self._kept[key]
        self.cached -= size
        self._allocator.free(opaque, size, options)

    def _alloc_or_explain(self, size: int, options: BufferOptions) -> Any:
        cause: MemoryError | None = None
        # What is kept goes first, then what only the collector can find: tensors in cycles, such as
        # those held by the traceback of an earlier exception.
        for recover in (None, self.release_cached, self._collect):
            if recover is not None:
                recover()
            if self._over_limit(size):
                continue
            try:
                return self._allocator.alloc(size, options)
            except MemoryError as error:
                cause = error
        raise OutOfMemory(self._explain(size, cause)) from cause

    def _collect(self) -> None:
        gc.collect()
        self.release_cached()

    def _over_limit(self, size: int) -> bool:
        limit = self._allocator.limit()
        return limit is not None and self.used + self.cached + size > limit

    def _explain(self, size: int, cause: MemoryError | None) -> str:
        limit = self._allocator.limit()
        room = f" of {format_bytes(limit)}" if limit is not None else ""
        lines = [
            f"{self._name}: out of memory: {format_bytes(size)} wanted, "
            f"{format_bytes(self.used)}{room} held by {len(self._holders)} buffers, "
            "nothing left to release"
        ]
        holders = Counter(self._holders.values())
        ranked = sorted(holders.items(), key=_by_total, reverse=True)
        for (nbytes, label), count in ranked[:TOP_HOLDERS]:
            total, each = format_bytes(nbytes * count), format_bytes(nbytes)
            lines.append(f"  {total}: {count} x {each} {label}".rstrip())
        if cause is not None and str(cause):
            lines.append(f"  the allocator said: {cause}")
        return "\n".join(lines)


def _by_total(entry: tuple[tuple[int, str], int]) -> tuple[int, str]:
    (nbytes, label), count = entry
    return nbytes * count, label


def format_bytes(nbytes: int) -> str:
    """Return an amount of memory for a message, such as `1.50 GB`."""
    amount = float(nbytes)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.2f} {unit}"
