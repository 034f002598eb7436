"""Copies between memories that no queue reaches both of -> copies through staging memory.

A device's staging memory is memory of the host that belongs to the device, in slots. The device at
the source copies a piece into a slot, the device at the destination copies it out; the next piece
takes the next slot, so that both are busy. A slot is used again when it was copied out: the order
of calls sees the bytes of the slots like those of any other memory.

A device that has a better way rewrites the copies of its queues with `pm_batch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.device import Device
from tg_core.device.queues.compiled import HCQCompiled
from tg_core.device.queues.encoder import placeholder
from tg_core.dtype import dtypes
from tg_core.hcq.arguments import parse_argument
from tg_core.hcq.enqueue import STAGING, device_of, is_staged
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.hcq.arguments import Argument

__all__ = ["part_of", "slot_bytes", "stage_copies", "staging_of"]

ALIGNMENT: Final = 128
"""Of slots, in bytes."""


def staging_of(device: HCQCompiled) -> UOp:
    """Return the staging memory of a device as storage."""
    return placeholder((STAGING,), dtypes.uint8, device.staging_bytes, device.name)


def slot_bytes(device: HCQCompiled) -> int:
    """Return the length of a slot."""
    return max(device.staging_bytes // device.STAGING_SLOTS // ALIGNMENT, 1) * ALIGNMENT


def part_of(storage: UOp, start: int, nbytes: int) -> UOp:
    """Return bytes of storage."""
    whole = storage if storage.dtype is dtypes.uint8 else storage.bitcast(dtypes.uint8)
    return whole.shrink(((start, start + nbytes),))


def stage_copies(linear: UOp) -> list[tuple[int, UOp]]:
    """Split copies that need it into pieces that go through staging memory.

    Returns:
        The calls in order, each with the number of the call that it comes from.
    """
    calls: list[tuple[int, UOp]] = []
    used: dict[str, int] = {}
    for number, call in enumerate(linear.src):
        if call.src[0].op is not Ops.COPY or not is_staged(call):
            calls.append((number, call))
            continue
        source = device_of(call.src[2])
        device = Device[source] if source is not None else None
        assert isinstance(device, HCQCompiled)
        first = used.get(device.name, 0)
        pieces = _pieces(call, device, first)
        used[device.name] = first + len(pieces) // 2
        calls.extend([(number, piece) for piece in pieces])
    return calls


def _pieces(call: UOp, device: HCQCompiled, first: int) -> list[UOp]:
    """Return the copies that take the place of one, two for each piece."""
    body, target, source = call.src
    length, staging = slot_bytes(device), staging_of(device)
    nbytes = _nbytes(parse_argument(source))
    found = []
    for i, start in enumerate(range(0, nbytes, length)):
        size = min(length, nbytes - start)
        place = (first + i) % device.STAGING_SLOTS * length
        slot = part_of(staging, place, size)
        found.append(call.replace(src=(body, slot, part_of(source, start, size))))
        found.append(call.replace(src=(body, part_of(target, start, size), slot)))
    return found


def _nbytes(argument: Argument) -> int:
    return argument.size * argument.dtype.itemsize
