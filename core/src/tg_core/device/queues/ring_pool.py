"""Memory for batches that run once: taken in turn out of one allocation."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final, NamedTuple

from tg_core.device.buffer import Buffer
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from tg_core.device.api import BufferOptions
    from tg_core.device.queues.compiled import HCQCompiled
    from tg_core.dtype import DType

__all__ = ["RingPool"]

ALIGNMENT: Final = 128


class _Region(NamedTuple):
    start: int
    end: int
    buffer: weakref.ref[Buffer]
    """Dead as soon as neither a batch nor work in flight needs it."""


class RingPool:
    """Gives memory out from front to back and begins again at the front.

    Memory that is still in use is never given out: the pool waits for the device, and where a batch
    is kept for longer, it makes other memory.

    Args:
        device: whose memory.
        nbytes: how much.
        options: what kind.
    """

    def __init__(self, device: HCQCompiled, nbytes: int, options: BufferOptions) -> None:
        self._device, self._options = device, options
        self.memory = Buffer(device.name, nbytes, dtypes.uint8, options=options).allocate()
        self._next = 0
        self._regions: list[_Region] = []

    def take(self, size: int, dtype: DType) -> Buffer:
        """Return memory that nothing uses; what it holds is left over.

        Args:
            size: how many elements.
            dtype: of which type.
        """
        nbytes = size * dtype.itemsize
        start = self._place(nbytes)
        if start is None:
            return Buffer(self._device.name, size, dtype, options=self._options).allocate()
        found = self.memory.view(size, dtype, start).ensure_allocated()
        self._regions.append(_Region(start, start + nbytes, weakref.ref(found)))
        self._next = start + nbytes
        return found

    def _place(self, nbytes: int) -> int | None:
        """Return where there is room, None if there is none."""
        if nbytes > self.memory.nbytes:
            return None
        start = self._next + -self._next % ALIGNMENT
        if start + nbytes > self.memory.nbytes:
            start = 0
        if self._in_use(start, start + nbytes):
            # drops what was kept for work in flight
            self._device.synchronize()
            if self._in_use(start, start + nbytes):
                return None
        return start

    def _in_use(self, start: int, end: int) -> bool:
        self._regions = [region for region in self._regions if region.buffer() is not None]
        return any(region.start < end and start < region.end for region in self._regions)
