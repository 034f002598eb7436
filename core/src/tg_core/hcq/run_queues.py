"""Running a linked batch of queue calls: fill the table of inputs, then one native call."""

from __future__ import annotations

import struct
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tg_core.device import Buffer, Device, GlobalCounters
from tg_core.device.queues.compiled import WAIT_SECONDS, HCQCompiled, Patience
from tg_core.device.queues.memory import HCQBuffer
from tg_core.device.queues.timeline import Dependent
from tg_core.device.shown_memory import hide_memory, show_memory
from tg_core.errors import DeviceError
from tg_core.hcq.run import SizeInput, ValueInput
from tg_core.hcq.submits import SLOT
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg_core.device import Program
    from tg_core.device.queues.host_mappings import HostMapping
    from tg_core.hcq.submits import Submits, Timed
    from tg_core.uop.ops import UOp

__all__ = ["DeviceStorageInput", "LinkedSubmits", "QueueInput", "submitting"]

_GRID = (1, 1, 1)

_submitting = threading.RLock()
"""Held while a device is given work: its timeline has one writer at a time."""


@contextmanager
def submitting(device: HCQCompiled) -> Iterator[None]:
    """Let no other thread give work to a device."""
    with _submitting:
        device.check()
        yield


class DeviceStorageInput(NamedTuple):
    """The address of storage, as a device sees it."""

    slot: int
    device: HCQCompiled
    fixed: Buffer | None
    """The storage, where it is always the same but mapped for each run."""

    def buffer(self, arguments: Sequence[Buffer | int]) -> Buffer:
        """Return the storage, allocated."""
        given = self.fixed if self.fixed is not None else arguments[self.slot]
        return given.ensure_allocated()  # type: ignore[union-attr]  # a storage slot


class Shown(NamedTuple):
    """Memory of the host that a device is shown while a batch runs."""

    device: HCQCompiled
    mapping: HostMapping


class CannotMap(Exception):
    """Memory of the host cannot be shown to a device."""


QueueInput = DeviceStorageInput | ValueInput | SizeInput


class LinkedSubmits(Dependent):
    """A batch of calls that is one native call, which gives them to queues.

    It keeps all memory that its commands point to.

    Args:
        program: the host program.
        body: what it was compiled from.
        arguments: of the host program; first the table of inputs.
        first_input: position of the first input in the table.
        inputs: what comes with each run, in the order of the table.
        devices: that take part.
        submits: what the queues are given.
        commands: memory of command words, by device.
        slots: memory of signals, by device.
        fixed: storage that is the same at every run.
        kept: what else the commands point to.
    """

    def __init__(
        self,
        program: Program,
        body: UOp,
        arguments: Sequence[Buffer],
        first_input: int,
        inputs: Sequence[QueueInput],
        devices: Sequence[HCQCompiled],
        submits: Submits,
        commands: Sequence[Buffer],
        slots: Sequence[Buffer],
        fixed: Sequence[Buffer],
        kept: object,
    ) -> None:
        self._program, self._arguments, self._kept = program, tuple(arguments), kept
        self.body = body
        self._memory = (self._arguments, commands, slots, kept)
        self._opaques = [buffer.opaque for buffer in arguments]
        self._table = arguments[0].as_memoryview()
        self._status = self._table.cast("q")
        self._fill = struct.Struct(f"={len(inputs)}q").pack_into
        self._offset = 8 * first_input
        self.inputs, self.devices, self.submits = tuple(inputs), tuple(devices), submits
        self._storage = [item for item in inputs if isinstance(item, DeviceStorageInput)]
        self._fixed_roots = {id(buffer.root) for buffer in fixed}
        self._commands, self._slots = list(commands), list(slots)
        self._slot_views = [buffer.opaque.host_bytes().cast("Q") for buffer in slots]
        self._calls = [op for linear in submits.linears for op in linear.src if op.op is Ops.CALL]
        estimates = [op.src[0].arg.estimates for op in self._calls if op.src[0].op is Ops.PROGRAM]
        self.counts = len(estimates)
        self._work = (sum(e.flops for e in estimates), sum(e.bytes for e in estimates))
        for device in devices:
            device.timeline.dependents.add(self)

    def forget(self) -> None:
        for cells in self._slot_views:
            cells[0] = 0

    def run(self, arguments: Sequence[Buffer | int], wait: bool = False) -> bool:
        """Give all calls to the queues.

        Args:
            arguments: storage and values of variables by slot of the LINEAR around the batch.
            wait: return only when all calls are done.

        Returns:
            False where storage of this run overlaps in a way that the order of the batch does not
            know of, or host memory cannot be shown to the device; nothing was done then.

        Raises:
            DeviceError: a device is lost, hung or faulted.
            OutOfMemory: no room for storage that is allocated at its first use; nothing was done.
        """
        buffers = [item.buffer(arguments) for item in self._storage]
        if self._overlap(buffers):
            return False
        with _submitting:
            for device in self.devices:
                device.check()
                if device.timeline.full:
                    _start_over(device)
            mapped: list[Shown] = []
            try:
                try:
                    values = self._values(arguments, buffers, mapped)
                except CannotMap:
                    return False
                self._fill(self._table, self._offset, *values)
                given = time.perf_counter()
                # Whatever happens, memory of the host outlives the work that was given on it.
                self._submit([buffer.root for buffer in buffers] if mapped else None)
                if wait or mapped:
                    # The host may do to its own memory what it likes once this returns.
                    for device in self.devices:
                        device.synchronize()
                    self._compare_clocks(given)
            finally:
                _hide(mapped)
        GlobalCounters.kernel_count += self.counts
        GlobalCounters.flops += self._work[0]
        GlobalCounters.memory_bytes += self._work[1]
        return True

    def times(self) -> list[tuple[float, float]]:
        """Return start and end of each timed call of the last run, in seconds of its device's
        clock. The devices are idle. A copy that went in pieces is there from the first to the last
        of those that its destination made.
        """
        return [(start, end) for _, start, end in self._spans()]

    def host_times(self) -> list[tuple[float, float]]:
        """Return the same on the clock of the host, `time.perf_counter`, as far as it is known how
        the clocks differ.
        """
        clocks = {device.name: device.clock.offset for device in self.devices}
        return [(start + clocks[d], end + clocks[d]) for d, start, end in self._spans()]

    def _spans(self) -> list[tuple[str, float, float]]:
        spans: dict[int, list[tuple[str, float, float]]] = {}
        for item, start, end in self._stamps():
            spans.setdefault(item.call, []).append((item.device, start, end))
        found = []
        for pieces in spans.values():
            last = pieces[-1][0]
            own = [(start, end) for device, start, end in pieces if device == last]
            found.append((last, min(start for start, _ in own), max(end for _, end in own)))
        return found

    def _stamps(self) -> Iterator[tuple[Timed, float, float]]:
        views = dict(zip(self.submits.devices, self._slot_views, strict=True))
        rates = {device.name: device.TICKS_PER_SECOND for device in self.devices}
        step = SLOT // 8
        for item in self.submits.timed:
            cells, rate = views[item.device], rates[item.device]
            yield item, cells[item.start * step + 1] / rate, cells[item.end * step + 1] / rate

    def _compare_clocks(self, given: float) -> None:
        """Learn from a run that is over how the clocks of the devices differ from the host's."""
        over = time.perf_counter()
        bounds: dict[str, tuple[float, float]] = {}
        for item, start, end in self._stamps():
            first, last = bounds.get(item.device, (start, end))
            bounds[item.device] = (min(first, start), max(last, end))
        for device in self.devices:
            if device.name in bounds:
                device.clock.observe(given, *bounds[device.name], over)

    def _overlap(self, buffers: Sequence[Buffer]) -> bool:
        """Tell whether two inputs of different slots, or one and fixed storage, share memory."""
        roots: dict[int, int] = {}
        for item, buffer in zip(self._storage, buffers, strict=True):
            root = id(buffer.root)
            if roots.setdefault(root, item.slot) != item.slot:
                return True
            if item.fixed is None and root in self._fixed_roots:
                return True
        return False

    def _values(
        self,
        arguments: Sequence[Buffer | int],
        buffers: Sequence[Buffer],
        mapped: list[Shown],
    ) -> list[int]:
        values, storage = [], iter(buffers)
        for item in self.inputs:
            if not isinstance(item, DeviceStorageInput):
                values.append(item.read(arguments))
                continue
            buffer = next(storage)
            opaque = buffer.opaque
            if type(opaque) is HCQBuffer:
                values.append(item.device.hcq_allocator.address_of(opaque))
            else:
                values.append(_map_host(item.device, buffer, mapped))
        return values

    def _submit(self, host: list[Buffer] | None) -> None:
        """Call the host program until it finds the last run over and room in the rings.

        Args:
            host: what the devices must keep beside the batch's own memory.
        """
        patience: Patience | None = None
        while True:
            with self.devices[0].submission():
                self._program(self._opaques, (), _GRID, _GRID)
                if self._status[0]:
                    for device, commands in zip(self.devices, self._commands, strict=True):
                        device.host_submitted(commands.opaque)
                        device.keep(self._memory if host is None else (self._memory, host))
                    return
            patience = patience or Patience()
            moving = [device.sleep(WAIT_SECONDS) for device in self.devices]
            if patience.is_over(any(moving)):
                device = self.devices[0]
                raise device.fail(
                    f"hang: the last run of a batch is not over\n{device.hang_report()}"
                )


def _map_host(device: HCQCompiled, buffer: Buffer, mapped: list[Shown]) -> int:
    """Show memory of the host to a device; returns its address there."""
    try:
        mapping = device.hcq_allocator.host_mappings.use(buffer.root)
    except DeviceError as error:
        raise CannotMap from error
    mapped.append(Shown(device, mapping))
    show_memory(device, mapping.place, mapping.nbytes)
    return mapping.address + buffer.offset


def _hide(mapped: list[Shown]) -> None:
    """Undo `_map_host`. The mappings stay for the next run."""
    for device, mapping in mapped:
        hide_memory(device, mapping.place, mapping.nbytes)
        device.hcq_allocator.host_mappings.done((mapping,))


def _start_over(device: HCQCompiled) -> None:
    """Begin a timeline again. Queues of any device may hold waits for it, so all are drained."""
    for other in Device.opened():
        if isinstance(other, HCQCompiled) and other.lost is None:
            other.synchronize()
    device.timeline.start_over()
