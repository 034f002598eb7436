"""Reading and writing memory that the host has no view of, through staging memory.

While the queue empties one slot, the host fills the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq.batch import QUEUES
from tg_core.hcq.enqueue import copy_queue_kind
from tg_core.hcq.link_queues import link_submits
from tg_core.hcq.run_queues import submitting
from tg_core.hcq.staging import part_of, slot_bytes, staging_of
from tg_core.uop.ops import CallInfo, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg_core.device.queues.compiled import HCQCompiled
    from tg_core.device.queues.memory import HCQBuffer
    from tg_core.hcq.run_queues import LinkedSubmits

__all__ = ["copy_in", "copy_out"]

_KEPT = 32
"""How many linked copies a device keeps."""


def copy_in(device: HCQCompiled, opaque: HCQBuffer, data: memoryview) -> None:
    """Write bytes of the host into memory of a device.

    Raises:
        DeviceError: the device fails, or has no queue for copies.
    """
    with submitting(device):
        device.synchronize()
        slots = _Slots(device)
        for slot, start, size in slots.pieces(data.nbytes):
            slots.wait(slot)
            slots.view(slot, size, True)[:] = data.cast("B")[start : start + size]
            slots.submit(slot, opaque.part(start, size), True)


def copy_out(device: HCQCompiled, data: memoryview, opaque: HCQBuffer) -> None:
    """Read memory of a device into bytes of the host.

    Raises:
        DeviceError: the device fails, or has no queue for copies.
    """
    out = data.cast("B")
    with submitting(device):
        device.synchronize()
        slots = _Slots(device)
        pending: list[tuple[int, int, int]] = []
        for slot, start, size in slots.pieces(data.nbytes):
            if len(pending) == device.STAGING_SLOTS:
                slots.fetch(out, *pending.pop(0))
            slots.submit(slot, opaque.part(start, size), False)
            pending.append((slot, start, size))
        for piece in pending:
            slots.fetch(out, *piece)


class _Slots:
    """The staging memory of a device during one copy."""

    def __init__(self, device: HCQCompiled) -> None:
        if copy_queue_kind(device.name) is None:
            raise DeviceError(
                f"{device.name}: the host has no view of its memory, and it no queue for copies"
            )
        self.device, self.length = device, slot_bytes(device)
        self.numbers = [0] * device.STAGING_SLOTS
        """Of the last batch that used each slot."""

    def pieces(self, nbytes: int) -> Iterator[tuple[int, int, int]]:
        for i, start in enumerate(range(0, nbytes, self.length)):
            yield i % len(self.numbers), start, min(self.length, nbytes - start)

    def wait(self, slot: int) -> None:
        """Return when the queue is done with a slot."""
        # a timeline that has begun anew since is past it
        if self.numbers[slot] <= self.device.timeline.given:
            self.device.wait_until(self.numbers[slot])

    def view(self, slot: int, size: int, write: bool) -> memoryview:
        opaque: HCQBuffer = self.device.staging.opaque
        part = opaque.part(slot * self.length, size)
        self.device.host_access(part, size, write)
        return part.host_bytes()

    def fetch(self, out: memoryview, slot: int, start: int, size: int) -> None:
        """Take a piece out of its slot."""
        self.wait(slot)
        out[start : start + size] = self.view(slot, size, False)

    def submit(self, slot: int, part: HCQBuffer, write: bool) -> None:
        """Let the queue copy between a slot and memory of the device."""
        name, size = self.device.name, part.nbytes
        linked = self._linked(slot, size, write)
        linked.run([Buffer(name, size, dtypes.uint8, opaque=part)])
        self.numbers[slot] = self.device.timeline.given

    def _linked(self, slot: int, size: int, write: bool) -> LinkedSubmits:
        kept = self.device.kept_links
        key = (slot, size, write)
        found = kept.get(key)
        if found is None:
            name = self.device.name
            memory = UOp.param(0, dtypes.uint8, (size,), name)
            staged = part_of(staging_of(self.device), slot * self.length, size)
            ends = (memory, staged) if write else (staged, memory)
            call = UOp.call(UOp(Ops.COPY, (ends[1],), name), *ends)
            joined = UOp.call(UOp(Ops.LINEAR, (call,)), memory, info=CallInfo(QUEUES))
            if len(kept) >= _KEPT:
                kept.pop(next(iter(kept)))
            found = kept[key] = link_submits(joined, {})
        return found
