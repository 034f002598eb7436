"""Launching one kernel by itself, on memory that is given by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tg_core.device import Buffer
from tg_core.device.queues.compiled import HCQProgram
from tg_core.dtype import dtypes
from tg_core.hcq.batch import batch
from tg_core.hcq.link_queues import link_submits
from tg_core.hcq.programs import adopt_program
from tg_core.uop.ops import CallInfo, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["launch"]


def launch(
    program: HCQProgram,
    buffers: Sequence[Any],
    values: tuple[int, ...],
    global_size: tuple[int, ...],
    local_size: tuple[int, ...],
    wait: bool,
) -> float | None:
    """Launch a loaded kernel; see `tg_core.device.Program`."""
    device, info = program.device, program.info
    sized = replace(
        info,
        global_size=global_size,
        local_size=local_size,
        params=tuple(range(len(buffers))),
        outs=_positions(info.params, info.outs),
        ins=_positions(info.params, info.ins),
        variables=tuple(
            UOp.variable(f"v{i}", -(1 << 62), 1 << 62, dtypes.int64, len(buffers) + i)
            for i in range(len(values))
        ),
    )
    node = UOp(Ops.PROGRAM, (), sized, ("loaded", id(program)))
    adopt_program(device.name, node, program)
    given: list[Buffer | int] = []
    arguments = []
    for slot, opaque in enumerate(buffers):
        given.append(Buffer(device.name, opaque.nbytes, dtypes.uint8, opaque=opaque))
        arguments.append(UOp.param(slot, dtypes.uint8, (opaque.nbytes,), device.name))
    call = UOp.call(node, *arguments, *sized.variables, info=CallInfo(info.name))
    (joined,) = batch(UOp(Ops.LINEAR, (call,))).src
    linked = link_submits(joined, {}, timed=wait)
    while not linked.run([*given, *values], wait):
        # the same memory twice: fixed storage is known to the order of a batch
        fixed = {i: b for i, b in enumerate(given) if isinstance(b, Buffer)}
        linked = link_submits(joined, fixed, timed=wait)
    if not wait:
        device.synchronize()
        return None
    ((start, end),) = linked.times()
    return end - start


def _positions(params: Sequence[int], slots: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i, slot in enumerate(params) if slot in slots)
