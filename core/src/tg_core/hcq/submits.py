"""A batch of queue calls -> what each queue is given: calls, waits and signals in order.

Every device of the batch has a timeline (see `Timeline`), and memory for signals: slots of 16
bytes, `[value, time]`. The first slot keeps the number of the batch's last run, for the fence; then
comes one for each queue of the device, to which the queue stores how far it has come; then, if
calls are timed, two for each of them.

The operations of a queue are a LINEAR over:

| operation | sources |
|---|---|
| CALL | of a program or a copy |
| INS `barrier` | |
| INS `wait`, `wait_eq`, `store` | address, value |
| INS `timestamp` | address of a slot; the clock goes into its second word |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.device import Device
from tg_core.device.queues.encoder import placeholder
from tg_core.dtype import dtypes
from tg_core.hcq.arguments import parse_argument
from tg_core.hcq.copy_kernels import copy_by_kernel
from tg_core.hcq.dependencies import DependencyTracker, Range
from tg_core.hcq.enqueue import QueueName, has_queues, queue_of
from tg_core.hcq.queue_choice import QueueChoice
from tg_core.hcq.staging import stage_copies
from tg_core.plugins import Capability
from tg_core.plugins.dispatch import device_matcher
from tg_core.uop.ops import Ops, ParamArg, UOp
from tg_core.uop.passes import verified

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from tg_core.hcq.arguments import Argument

__all__ = ["SLOT", "Submits", "Timed", "address", "schedule_submits", "timeline_value"]

SLOT = 16
"""Bytes of a slot."""

Aliases = tuple[tuple[int, int, int], ...]
"""Parameters that share memory: slot, number of the memory, byte offset in it."""


@dataclass(frozen=True)
class Timed:
    """A call whose time is taken: its slots on its device."""

    device: str
    call: int
    """Its number in the batch; the pieces of a copy have the same."""
    start: int
    end: int


@dataclass(frozen=True)
class Submits:
    """What the queues are given."""

    devices: tuple[str, ...]
    """All that take part, in the order of the fence."""
    queues: tuple[QueueName, ...]
    """In the order of submission."""
    linears: tuple[UOp, ...]
    """The operations of each."""
    slots: Mapping[str, int]
    """How many slots each device has."""
    signals: Mapping[QueueName, int]
    """Number of the slot of each queue."""
    timed: tuple[Timed, ...]


@dataclass
class _Call:
    node: UOp
    queue: QueueName
    number: int
    """Of the call in the batch that it comes from."""
    touched: tuple[str, ...]
    """Devices with queues whose memory it uses, its own one first."""
    waits: list[tuple[QueueName, int]] = field(default_factory=list)


def address(base: UOp, device: str, offset: int = 0) -> UOp:
    """Return the address of a byte of storage, as a device sees it."""
    return UOp(Ops.GETADDR, (base,), (device, offset))


def timeline_value(device: str) -> UOp:
    """Return the number of the last batch a device was given before this one."""
    arg = ParamArg(-1, dtypes.uint64, (), device, "timeline_value", (0, (1 << 63) - 1))
    return UOp(Ops.PARAM, (), arg, ("timeline_value",))


def timeline_of(device: str) -> UOp:
    """Return the timeline of a device as storage."""
    return placeholder(("timeline",), dtypes.uint64, 2, device)


def slots_of(device: str) -> UOp:
    """Return the slots of a device as storage."""
    return placeholder(("slots",), dtypes.uint64, 1 << 20, device)


def schedule_submits(call: UOp, aliases: Aliases = (), timed: bool = False) -> Submits:
    """Distribute the calls of a batch to queues.

    Args:
        call: a batch of queue calls.
        aliases: parameters of the batch that share memory.
        timed: take the time of every call.
    """
    calls = _calls_of(call.src[0], {slot: (memory, at) for slot, memory, at in aliases})
    by_queue: dict[QueueName, list[int]] = {}
    touching: dict[str, dict[QueueName, int]] = {}
    for tag, item in enumerate(calls):
        by_queue.setdefault(item.queue, []).append(tag)
        for device in item.touched:
            touching.setdefault(device, {})[item.queue] = tag
    for device in touching:
        if not any(queue.device == device for queue in by_queue):
            # It takes part with its memory alone; its timeline must cover that all the same.
            by_queue[QueueName(device, "COMPUTE", 0)] = []
    return _Builder(calls, by_queue, touching, timed).finish()


def _calls_of(linear: UOp, shared: Mapping[int, tuple[int, int]]) -> list[_Call]:
    tracker: DependencyTracker[int] = DependencyTracker()
    found: list[_Call] = []
    chosen = QueueChoice()
    for tag, (number, whole) in enumerate(stage_copies(linear)):
        taking = queue_of(whole)
        assert taking is not None
        node = copy_by_kernel(whole, taking)
        arguments, written = _accesses(node)
        ranges = [_range_of(argument, shared) for argument in arguments]
        producers = tracker.access(ranges, written, tag)
        size = sum(part.end - part.start for part in ranges)
        queue = chosen.queue(taking, [found[p].queue for p in producers], size)
        touched = [queue.device, *[str(a.base.device) for a in arguments]]
        own = [device for device in dict.fromkeys(touched) if has_queues(device)]
        item = _Call(node, queue, number, tuple(own))
        latest: dict[QueueName, int] = {}
        for producer in producers:
            # they come in no order
            queued = found[producer].queue
            latest[queued] = max(latest.get(queued, -1), producer)
        if not _overlaps(queue):
            latest.pop(queue, None)
        item.waits = list(latest.items())
        found.append(item)
    return found


def _overlaps(queue: QueueName) -> bool:
    """Tell whether launches of one queue may overlap, so that order alone is not enough."""
    capabilities = Device[queue.device].capabilities
    return queue.kind == "COMPUTE" and Capability.OVERLAPPING_LAUNCHES in capabilities


def _accesses(node: UOp) -> tuple[list[Argument], list[bool]]:
    if node.src[0].op is Ops.COPY:
        return [parse_argument(node.src[1]), parse_argument(node.src[2])], [True, False]
    info = node.src[0].arg
    arguments = [parse_argument(node.src[1 + slot]) for slot in info.params]
    return arguments, [slot in info.outs for slot in info.params]


def _range_of(argument: Argument, shared: Mapping[int, tuple[int, int]]) -> Range:
    memory: Hashable
    if argument.base.tag is not None:
        memory, start = (argument.base.tag, argument.base.device), 0
    else:
        slot: int = argument.base.arg.slot
        memory, start = shared.get(slot, (-1 - slot, 0))
    start += argument.offset
    return Range(memory, start, start + argument.size * argument.dtype.itemsize)


class _Builder:
    """The operations of all queues while they are put together."""

    def __init__(
        self,
        calls: list[_Call],
        by_queue: dict[QueueName, list[int]],
        touching: dict[str, dict[QueueName, int]],
        timed: bool,
    ) -> None:
        self.calls, self.by_queue, self.touching = calls, by_queue, touching
        self.devices = tuple(dict.fromkeys([*[q.device for q in by_queue], *touching]))
        self.slots = dict.fromkeys(self.devices, 1)
        self.signals: dict[QueueName, int] = {}
        for queue in by_queue:
            self.signals[queue] = self._new_slot(queue.device)
        self.timed: dict[int, Timed] = {}
        if timed:
            for tag, item in enumerate(calls):
                device = item.queue.device
                start, end = self._new_slot(device), self._new_slot(device)
                self.timed[tag] = Timed(device, item.number, start, end)
        self.closing = {device: self._closing_queue(device) for device in self.devices}

    def _new_slot(self, device: str) -> int:
        self.slots[device] += 1
        return self.slots[device] - 1

    def _closing_queue(self, device: str) -> QueueName:
        own = [queue for queue in self.by_queue if queue.device == device]
        compute = QueueName(device, "COMPUTE", 0)
        return compute if compute in own else own[0]

    def _slot(self, owner: str, number: int, device: str) -> UOp:
        """Return the address of a slot of one device as another sees it."""
        return address(slots_of(owner), device, number * SLOT)

    def finish(self) -> Submits:
        """Return the result."""
        signalling = {wait for item in self.calls for wait in item.waits}
        for device, queues in self.touching.items():
            signalling.update(
                (queue, tag) for queue, tag in queues.items() if queue != self.closing[device]
            )
        linears = []
        for queue, tags in self.by_queue.items():
            ops = self._prologue(queue)
            for tag in tags:
                ops.extend(self._call(queue, tag, (queue, tag) in signalling))
            for device in self.devices:
                if self.closing[device] == queue:
                    ops.extend(self._epilogue(device, queue))
            linears.append(UOp(Ops.LINEAR, tuple(ops), queue))
        return Submits(
            self.devices,
            tuple(self.by_queue),
            _hooked(self.devices, linears),
            self.slots,
            self.signals,
            tuple(self.timed.values()),
        )

    def _prologue(self, queue: QueueName) -> list[UOp]:
        """What was given earlier to devices whose memory is used comes first."""
        ops = [UOp(Ops.INS, (), "barrier")]
        used = [device for device, queues in self.touching.items() if queue in queues]
        for device in dict.fromkeys([queue.device, *used]):
            signal = address(timeline_of(device), queue.device)
            ops.append(UOp(Ops.INS, (signal, timeline_value(device)), "wait"))
        return ops

    def _call(self, queue: QueueName, tag: int, signal: bool) -> list[UOp]:
        item, ops = self.calls[tag], []
        for producer, number in item.waits:
            place = self._slot(producer.device, self.signals[producer], queue.device)
            ops.append(UOp(Ops.INS, (place, UOp.const(number + 1)), "wait"))
        times = self.timed.get(tag)
        if times is not None:
            ops.append(
                UOp(Ops.INS, (self._slot(queue.device, times.start, queue.device),), "timestamp")
            )
        ops.append(item.node)
        if times is not None:
            ops.append(
                UOp(Ops.INS, (self._slot(queue.device, times.end, queue.device),), "timestamp")
            )
        if signal:
            place = self._slot(queue.device, self.signals[queue], queue.device)
            ops.append(UOp(Ops.INS, (place, UOp.const(tag + 1)), "store"))
        return ops

    def _epilogue(self, device: str, closing: QueueName) -> list[UOp]:
        """All that used the device's memory is over: its timeline goes on."""
        ops = []
        for queue, tag in self.touching.get(device, {}).items():
            if queue == closing:
                continue
            place = self._slot(queue.device, self.signals[queue], device)
            ops.append(UOp(Ops.INS, (place, UOp.const(tag + 1)), "wait"))
        following = timeline_value(device) + UOp.const(1, dtypes.uint64)
        ops.append(UOp(Ops.INS, (address(timeline_of(device), device), following), "store"))
        return ops


def _hooked(devices: tuple[str, ...], linears: list[UOp]) -> tuple[UOp, ...]:
    """Let the devices' own rules change the submits."""
    sink = verified("schedule-submits", "queue", UOp(Ops.SINK, tuple(linears)))
    for device in devices:
        rules = device_matcher(Device[device], "pm_batch")
        if rules is not None:
            changed = rules.rewrite(sink, Device[device]) or sink
            sink = verified(f"pm_batch of {device}", "queue", changed)
    return sink.src
