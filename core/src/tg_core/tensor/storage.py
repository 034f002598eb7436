"""Operations on the storage behind tensors (`spec/tensor.md`, section 2): what the methods of
`Tensor` call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.callify import callify
from tg_core.device import Device
from tg_core.dtype import dtypes
from tg_core.schedule import schedule_body
from tg_core.tensor.assign import clone_node, record_write
from tg_core.tensor.copies import write_through_copies
from tg_core.tensor.moves import apply_moves, moves_of_live
from tg_core.tensor.realize import Pending, realize_tensors
from tg_core.tensor.registry import live_lock
from tg_core.tensor.shard_states import expand_live_shards
from tg_core.tensor.states import CREATION_DEVICES, device_type, has_buffer_identity
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.tensor.tensor import Tensor

__all__ = [
    "as_param",
    "assign_tensor",
    "callify_tensors",
    "clone",
    "contiguous",
    "linear_with_vars",
    "realize_tensors",
    "to_device",
]


clone = clone_node


def to_device(node: UOp, device: str | None) -> UOp:
    """Return a node on another device: lazily, but with storage of its own where data enters or
    leaves.
    """
    target = Device.require(device)
    own = node.device
    if own is None or own == target:
        return node
    if isinstance(own, tuple):
        return node.copy_to(target)
    if device_type(own) in CREATION_DEVICES or device_type(target) == "DISK":
        return clone_node(node, target)
    return node.copy_to(target)


def contiguous(node: UOp) -> UOp:
    """Return a node marked to be computed in contiguous layout, or itself when it is weak, marked,
    deviceless or storage.
    """
    if dtypes.is_weak(node.dtype) or node.op is Ops.CONTIGUOUS or node.device is None:
        return node
    looked = node
    while looked.op in (Ops.DETACH, Ops.CONTIGUOUS_BACKWARD, Ops.RESHAPE):
        looked = looked.src[0]
    return node if has_buffer_identity(looked, after_ok=True) else node.contiguous()


def assign_tensor(x: Tensor, value: Tensor) -> Tensor:
    """Write `value`, broadcast, into `x`; a write to a file happens at once.

    Raises:
        DTypeError: the value has another dtype.
        DeviceMismatch: the value is on another device and the target is not a file.
        ShapeError: the value does not broadcast to the target.
    """
    record_write(x, value)
    if isinstance(x.uop.device, str) and device_type(x.uop.device) == "DISK":
        realize_tensors([x])
    return x


def callify_tensors(tensors: Sequence[Tensor]) -> None:
    """Give the tensors storage whose pending writes are grouped under one deferred call."""
    with live_lock:
        _callify(tensors)


def _callify(tensors: Sequence[Tensor]) -> None:
    expand_live_shards(tensors)
    pending = Pending([t.uop for t in tensors])
    if pending.sink is not None:
        apply_moves(moves_of_live(pending.replaced(callify(pending.sink))))


def linear_with_vars(tensors: Sequence[Tensor]) -> tuple[UOp, dict[str, int]]:
    """Return the LINEAR that would compute the tensors, over the parameters of its call, and the
    values of its variables.
    """
    expand_live_shards(tensors)
    pending = Pending([t.uop for t in tensors])
    if pending.sink is None:
        return UOp(Ops.LINEAR), {}
    kept = [after for _, _, after in moves_of_live(pending.replaced())]
    call = callify(write_through_copies(pending.sink, kept))
    bound = [a.unbind() for a in call.src[1:] if a.op is Ops.BIND]
    return schedule_body(call.src[0], Device.DEFAULT), {v.arg.name: value for v, value in bound}


def as_param(x: Tensor, slot: int) -> Tensor:
    """Return the tensor as parameter `slot` of a call's body: storage of its shape, dtype and
    device.
    """
    device = x.uop.device
    node = UOp.param(slot, x.dtype, (x.numel(),), device if isinstance(device, str) else None)
    return x._from_uop(node._movement(Ops.RESHAPE, tuple(x.shape)))
