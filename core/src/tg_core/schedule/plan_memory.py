"""LINEAR with one buffer per temporary -> LINEAR whose temporaries share one arena per device where
their lifetimes do not meet.

Only storage declared by the schedule is moved; arguments of the schedule belong to others.
"""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.schedule.views import strip_state
from tg_core.uop.ops import AddrSpace, BufferArg, Ops, UOp

ALIGNMENT = 128
"""Bytes; a cache line pair, and enough for the widest vector load."""


def _base(argument: UOp) -> UOp:
    while argument.op in (Ops.SHRINK, Ops.RESHAPE):
        argument = argument.src[0]
    return strip_state(argument)


def _is_temporary(node: UOp) -> bool:
    return node.op is Ops.BUFFER and node.arg.slot < 0 and node.arg.addrspace is AddrSpace.GLOBAL


class _Arena:
    """First-fit placement of intervals; free gaps are reused lowest first."""

    def __init__(self) -> None:
        self.live: list[tuple[int, int, UOp]] = []
        self.peak = 0

    def place(self, buffer: UOp, nbytes: int) -> int:
        position = 0
        for start, end, _ in self.live:
            if start - position >= nbytes:
                break
            position = max(position, end)
        self.live.append((position, position + nbytes, buffer))
        self.live.sort(key=_start)
        self.peak = max(self.peak, position + nbytes)
        return position

    def release(self, buffer: UOp) -> None:
        self.live = [entry for entry in self.live if entry[2] is not buffer]


def _start(entry: tuple[int, int, UOp]) -> int:
    return entry[0]


def plan_memory(linear: UOp) -> UOp:
    """Place the temporaries of a schedule in one arena per device."""
    last_use: dict[UOp, int] = {}
    for number, call in enumerate(linear.src):
        for argument in call.src[1:]:
            base = _base(argument)
            if _is_temporary(base):
                last_use[base] = number
    if len(last_use) < 2:
        return linear
    arenas: dict[object, _Arena] = {}
    offsets: dict[UOp, int] = {}
    for number, call in enumerate(linear.src):
        used = dict.fromkeys(b for b in map(_base, call.src[1:]) if b in last_use)
        for base in used:
            if base not in offsets:
                nbytes = -(-base.arg.size * base.dtype.itemsize // ALIGNMENT) * ALIGNMENT
                offsets[base] = arenas.setdefault(base.device, _Arena()).place(base, nbytes)
        for base in used:
            if last_use[base] == number:
                arenas[base.device].release(base)
    storage = {
        device: UOp(Ops.BUFFER, (), BufferArg(-1 - i, dtypes.uint8, arena.peak, device))  # type: ignore[arg-type]  # one device
        for i, (device, arena) in enumerate(arenas.items())
    }
    placed = {base: _placed(storage[base.device], base, offset) for base, offset in offsets.items()}
    return linear.replace(
        src=tuple(
            call.replace(src=(call.src[0], *(a.substitute(placed) for a in call.src[1:])))
            for call in linear.src
        )
    )


def _placed(arena: UOp, base: UOp, offset: int) -> UOp:
    nbytes = base.arg.size * base.dtype.itemsize
    view = arena
    if (offset, nbytes) != (0, arena.arg.size):
        view = arena._movement(Ops.SHRINK, ((offset, offset + nbytes),))
    return view.bitcast(base.dtype)
