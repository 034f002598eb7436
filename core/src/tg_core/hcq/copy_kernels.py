"""Copies on queues that launch kernels alone -> kernels that copy.

A device without a queue for copies may declare `COMPUTE_COPIES`. Where the class of its COMPUTE
queue has `copy`, that encodes them, as packets or as a kernel of the backend's own. Where it has
not, a copy becomes a kernel here, like any other: it moves words, as wide as both ends are known to
be aligned, or bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen import compile_program
from tg_core.device import Device
from tg_core.device.queues.encoder import HWQueue
from tg_core.dtype import dtypes
from tg_core.hcq.arguments import parse_argument
from tg_core.hcq.enqueue import has_queues
from tg_core.uop.ops import AxisType, KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.hcq.arguments import Argument
    from tg_core.hcq.enqueue import QueueName
    from tg_core.renderer import Renderer

__all__ = ["copy_by_kernel"]

_WORDS: Final = (dtypes.uint32, dtypes.uint16, dtypes.uint8)


def copy_by_kernel(call: UOp, queue: QueueName) -> UOp:
    """Return the call that makes a copy: itself, or that of a kernel where the queue has no copies.

    Args:
        call: of a copy, or of anything else, which stays.
        queue: what takes it.
    """
    if call.src[0].op is not Ops.COPY or queue.kind != "COMPUTE" or _encodes_copies(queue):
        return call
    ends = [parse_argument(argument) for argument in call.src[1:3]]
    word = _word(ends)
    nbytes = ends[1].size * ends[1].dtype.itemsize
    renderer = Device[queue.device].renderer
    program = _program(renderer, nbytes // word.itemsize, word, queue.device)
    arguments = [a if a.dtype is word else a.bitcast(word) for a in call.src[1:3]]
    return UOp.call(program, *arguments)


def _encodes_copies(queue: QueueName) -> bool:
    device = Device[queue.device]
    records = [r for r in device.catalog.queues(device.type) if r.kind == queue.kind]
    return not records or records[0].cls.load().copy is not HWQueue.copy


def _word(ends: list[Argument]) -> DType:
    """Return the widest word that both ends consist of."""
    for word in _WORDS:
        if all(_is_aligned(end, word.itemsize) for end in ends):
            return word
    return dtypes.uint8


def _is_aligned(end: Argument, nbytes: int) -> bool:
    device = end.base.device
    if not isinstance(device, str) or not has_queues(device):
        # memory of the host may begin anywhere
        return nbytes == 1
    return end.offset % nbytes == 0 and end.size * end.dtype.itemsize % nbytes == 0


def _program(renderer: Renderer, count: int, word: DType, device: str) -> UOp:
    target, source = (UOp.param(slot, word, (count,), device) for slot in (0, 1))
    axis = AxisType.GLOBAL if renderer.has_global else AxisType.LOOP
    i = UOp.range(count, 0, axis)
    store = target.index(i).store(source.index(i).load()).end(i)
    return compile_program(UOp.sink(store, arg=KernelInfo("copy")), renderer)
