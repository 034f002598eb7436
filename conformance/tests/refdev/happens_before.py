"""What must come before what in two batches and the host's accesses after them, worked out from the
operations of the queues alone: a second opinion on the race detector, which watches them run.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from tg_core.hcq import QueueName, Submits, parse_argument
from tg_core.uop.ops import Ops, UOp

HOST = "host"


class Place(NamedTuple):
    """An operation of a queue, in one of the batches."""

    batch: int
    queue: int
    at: int


class Touch(NamedTuple):
    """An access to a part of a buffer."""

    event: object
    buffer: int
    """Its number; negative for signals of devices."""
    start: int
    end: int
    write: bool


@dataclass
class Order:
    """Events, and which of them follow directly on which."""

    after: dict[object, list[object]] = field(default_factory=lambda: defaultdict(list))
    """For each event, those that come directly before it."""
    touches: list[Touch] = field(default_factory=list)
    """In the order in which a single queue would do them."""

    def follow(self, event: object, before: object) -> None:
        self.after[event].append(before)

    def unordered(self) -> list[tuple[Touch, Touch]]:
        """Return conflicting accesses of which the later one does not follow on the earlier."""
        history: dict[object, set[object]] = {}
        for touch in self.touches:
            if touch.event not in history:
                history[touch.event] = self._before(touch.event)
        return [
            (a, b)
            for number, b in enumerate(self.touches)
            for a in self.touches[:number]
            if a.buffer == b.buffer
            and a.start < b.end
            and b.start < a.end
            and (a.write or b.write)
            and a.event != b.event
            and a.event not in history[b.event]
        ]

    def _before(self, event: object) -> set[object]:
        seen: set[object] = set()
        todo = [event]
        while todo:
            for before in self.after.get(todo.pop(), ()):
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
        return seen


def order_of(
    batches: list[tuple[UOp, Submits]], devices: list[str], buffers: list[tuple[str, int]]
) -> Order:
    """Return the order of batches that are given one after the other, and of what the host does
    then: for each device in turn it waits for it and writes its buffers.

    Args:
        batches: calls and what became of them.
        devices: in the order in which the host waits for them.
        buffers: device and length in bytes of each.
    """
    order = Order()
    last_of_queue: dict[QueueName, Place] = {}
    last_store: dict[str, Place] = {}
    host: object = (HOST, "start")
    for number, (call, made) in enumerate(batches):
        given: object = (HOST, f"submission {number}")
        order.follow(given, host)
        host = given
        stores = _signals(number, made)
        reached = dict(last_store)
        for q, (queue, linear) in enumerate(zip(made.queues, made.linears, strict=True)):
            before: object = last_of_queue.get(queue, given)
            for at, op in enumerate(linear.src):
                place = Place(number, q, at)
                order.follow(place, before)
                order.follow(place, given)
                if op.op is Ops.INS and op.arg == "wait":
                    found = _sender(op, stores, reached)
                    if found is not None:
                        order.follow(place, found)
                if op.op is Ops.INS and op.arg == "store" and op.src[1].op is not Ops.CONST:
                    last_store[op.src[0].src[0].arg.device] = place
                before = last_of_queue[queue] = place
        order.touches.extend(_touches(number, call, made))
        # A signal that is stored to by two queues must not go back.
        for device, place in last_store.items():
            if place.batch == number:
                order.touches.append(Touch(place, -1 - devices.index(device), 0, 8, True))
    for device in devices:
        seen: object = (HOST, f"wait for {device}")
        order.follow(seen, host)
        if device in last_store:
            order.follow(seen, last_store[device])
        host = seen
        for buffer, (owner, nbytes) in enumerate(buffers):
            if owner == device:
                order.touches.append(Touch(seen, buffer, 0, nbytes, True))
    return order


def _signals(batch: int, made: Submits) -> dict[object, list[tuple[int, Place]]]:
    """Return what is stored to each slot, least first."""
    found: dict[object, list[tuple[int, Place]]] = defaultdict(list)
    for q, linear in enumerate(made.linears):
        for at, op in enumerate(linear.src):
            if op.op is Ops.INS and op.arg == "store" and op.src[1].op is Ops.CONST:
                found[_slot(op)].append((op.src[1].arg, Place(batch, q, at)))
    return {slot: sorted(stores) for slot, stores in found.items()}


def _slot(op: UOp) -> object:
    place = op.src[0]
    return place.src[0], place.arg[1]


def _sender(
    op: UOp, stores: dict[object, list[tuple[int, Place]]], reached: dict[str, Place]
) -> Place | None:
    """Return the store that ends a wait; None if it is over from the start."""
    if op.src[1].op is not Ops.CONST:
        return reached.get(op.src[0].src[0].arg.device)
    return next(place for value, place in stores[_slot(op)] if value >= op.src[1].arg)


def _touches(batch: int, call: UOp, made: Submits) -> list[Touch]:
    """Return the accesses of all calls, in the order in which the calls were given."""
    slots = [parameter.arg.slot for parameter in call.src[1:]]
    numbered: list[tuple[int, Place, UOp]] = []
    for q, linear in enumerate(made.linears):
        start = 0
        for at, op in enumerate(linear.src):
            if op.op is Ops.CALL:
                start = next(
                    i for i, given in enumerate(call.src[0].src) if i >= start and given is op
                )
                numbered.append((start, Place(batch, q, at), op))
                start += 1
    found = []
    for _, place, op in sorted(numbered, key=_first):
        for position, argument in enumerate(op.src[1:]):
            part = parse_argument(argument)
            end = part.offset + part.size * part.dtype.itemsize
            number = slots[part.base.arg.slot]
            found.append(Touch(place, number, part.offset, end, position == 0))
    return found


def _first(row: tuple[int, Place, UOp]) -> int:
    return row[0]
