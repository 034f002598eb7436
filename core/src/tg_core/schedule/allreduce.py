"""One partial result per device -> their sum (or product, maximum) on every device.

Three ways, which differ in what travels. *Naive*: every device gets every partial and adds them in
the order of the devices; fewest steps, for small values. *Ring*: the value is cut into a chunk per
device, partial sums of chunks travel once around, then the finished chunks do; each link carries
`2 (n - 1) / n` of the value, whatever the number of devices. *All-to-all*: each device adds one
chunk from all others and sends it back to all; the traffic of a ring in two steps, where every pair
of devices has a link. In all of them a chunk is added up once and then copied, so every device ends
with the same bits.

Source: P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations" (2009) for the ring.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.config import ALL2ALL, RING
from tg_core.schedule.shards import multi, on_device, part_of, split_sizes
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LARGE", "allreduce"]

LARGE = 1 << 18
"""Elements from which on traffic costs more than the steps of exchanging chunks."""


def allreduce(op: Ops, partials: Sequence[UOp], devices: tuple[str, ...]) -> UOp:
    """Return the combination of one partial result per device, replicated.

    Args:
        op: ADD, MUL or MAX.
        partials: values of one shape, each on its device or on none.
        devices: the devices, in the order of the partials.
    """
    sizes = [size for size in partials[0].shape if isinstance(size, int)]
    static = len(sizes) == len(partials[0].shape)
    count = math.prod(sizes) if static else 0
    if static and count >= len(devices) > 1:
        if ALL2ALL.value >= 2 or (ALL2ALL.value == 1 and count >= LARGE):
            return _by_chunks(op, partials, devices, count, ring=False)
        if RING.value >= 2 or (RING.value == 1 and count >= LARGE and len(devices) > 2):
            return _by_chunks(op, partials, devices, count, ring=True)
    return _naive(op, partials, devices)


def _naive(op: Ops, partials: Sequence[UOp], devices: tuple[str, ...]) -> UOp:
    # What several devices read is stored once, by its own device.
    stored = [part.contiguous() if part.device is not None else part for part in partials]
    results = []
    for device in devices:
        total = on_device(stored[0], device)
        for part in stored[1:]:
            total = total.alu(op, on_device(part, device))
        results.append(total)
    return multi(results, devices, None)


def _by_chunks(
    op: Ops, partials: Sequence[UOp], devices: tuple[str, ...], count: int, ring: bool
) -> UOp:
    shape = partials[0].shape
    flat = [part.contiguous()._movement(Ops.RESHAPE, (count,)) for part in partials]
    chunks: list[list[UOp]] = [[] for _ in devices]
    begin = 0
    for position, size in enumerate(split_sizes(count, len(devices))):
        ends = (begin, begin + size)
        order = [(position + step) % len(devices) for step in range(len(devices))]
        owner, total = _sum_of_chunk(op, flat, devices, order, ends, ring)
        for place, copied in _spread(total, owner, devices, ring).items():
            chunks[place].append(copied)
        begin += size
    results = [own[0].cat(*own[1:])._movement(Ops.RESHAPE, shape) for own in chunks]
    return multi(results, devices, None)


def _sum_of_chunk(
    op: Ops,
    flat: Sequence[UOp],
    devices: tuple[str, ...],
    order: Sequence[int],
    ends: tuple[int, int],
    ring: bool,
) -> tuple[int, UOp]:
    """Return a finished chunk, and the position of the device that it is on."""
    pieces = [part_of(flat[place], 0, *ends) for place in order]
    owner = order[-1] if ring else order[0]
    total = pieces[0]
    for place, piece in zip(order[1:], pieces[1:]):
        if ring:
            total = on_device(total, devices[place]).alu(op, piece).contiguous()
        else:
            total = total.alu(op, on_device(piece, devices[owner]))
    return owner, total.contiguous()


def _spread(total: UOp, owner: int, devices: tuple[str, ...], ring: bool) -> dict[int, UOp]:
    """Return a chunk on every device, by the position of the device."""
    found = {owner: total}
    for step in range(1, len(devices)):
        place = (owner + step) % len(devices)
        source = found[(place - 1) % len(devices)] if ring else total
        found[place] = on_device(source, devices[place])
    return found
