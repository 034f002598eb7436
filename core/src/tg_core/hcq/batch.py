"""LINEAR of compiled calls -> LINEAR in which runs of calls that one host program can make are one
call: native functions of this process, or calls that go to hardware queues.

A batch is `CALL(LINEAR(calls...), parameters...)`; its body numbers its own parameters. Every other
call stays as it is and ends the batch before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Device, HostAllocator
from tg_core.errors import ScheduleError
from tg_core.hcq.arguments import base_of, call_device
from tg_core.hcq.enqueue import queue_of
from tg_core.hcq.parametrize import parametrize
from tg_core.plugins import Capability
from tg_core.uop.ops import CallInfo, Ops, UOp
from tg_core.uop.passes import verified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.ops import ProgramInfo

HOST_CALLS = "host_calls"
QUEUES = "queues"


def is_host_call(call: UOp) -> bool:
    """Tell whether a call is one of a native function of this process: a compiled kernel, of a
    device that runs such in program order, launched along one axis at most; or a copy to such a
    device from memory of this process.
    """
    if call.src[0].op is Ops.COPY:
        return _is_move(call)
    if call.src[0].op is not Ops.PROGRAM:
        return False
    info: ProgramInfo = call.src[0].arg
    if any(size != 1 for size in (*info.global_size[1:], *info.local_size)):
        return False
    return Capability.HOST_CALL in Device[call_device(call)].capabilities


def _is_move(call: UOp) -> bool:
    if 0 in call.src[1].shape:
        return False
    destination, source = (Device[str(base_of(call.src[i]).device)] for i in (1, 2))
    if Capability.HOST_CALL not in destination.capabilities:
        return False
    if Capability.PERSISTENT in source.capabilities:
        return False
    return Capability.HOST_CALL in source.capabilities or isinstance(
        source.allocator, HostAllocator
    )


def is_batch(call: UOp) -> bool:
    """Tell whether a call is a batch."""
    return call.src[0].op is Ops.LINEAR


def is_queue_batch(call: UOp) -> bool:
    """Tell whether a call is a batch for hardware queues."""
    return is_batch(call) and isinstance(call.arg, CallInfo) and call.arg.name == QUEUES


def _kind_of(call: UOp) -> str | None:
    """Return which kind of batch takes a call, or None."""
    if queue_of(call) is not None:
        return QUEUES
    return HOST_CALLS if is_host_call(call) else None


def batch(linear: UOp, least: int = 1) -> UOp:
    """Join maximal runs of calls of one kind.

    Args:
        linear: of calls over parameters.
        least: shorter runs of host calls stay single calls.
    """
    joined: list[UOp] = []
    run: list[UOp] = []
    kinds: dict[tuple[UOp, ...], str | None] = {}
    current: str | None = None

    def finish() -> None:
        if current is None or (current == HOST_CALLS and len(run) < least):
            joined.extend(run)
        elif run:
            joined.append(_batch_of(run, current))
        run.clear()

    for call in linear.src:
        key = call.src[:3] if call.src[0].op is Ops.COPY else call.src[:2]
        if key not in kinds:
            kinds[key] = _kind_of(call)
        if kinds[key] != current:
            finish()
            current = kinds[key]
        run.append(call)
    finish()
    return verified("batch", "calls", UOp(Ops.LINEAR, tuple(joined)))


def _batch_of(calls: list[UOp], kind: str) -> UOp:
    parameters: dict[int, UOp] = {}
    for call in calls:
        for argument in call.src[1:]:
            base = base_of(argument)
            parameters[base.arg.slot] = base
    slots: Sequence[int] = range(1 << 31)
    body, used = parametrize([(UOp(Ops.LINEAR, tuple(calls)), slots, _undeclared)])
    return UOp.call(body, *[parameters[slot] for slot in used], info=CallInfo(kind))


def _undeclared(buffer: UOp) -> int:
    raise ScheduleError(f"batch: storage {buffer.arg} is no parameter")
