"""Operations on the storage behind tensors (`spec/tensor.md`, section 2): what the methods of `Tensor` call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.callify import callify
from tg_core.device import Device
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.schedule import schedule_body
from tg_core.tensor.assign import clone_node, record_write
from tg_core.tensor.realize import Pending, realize_tensors
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


def _moved(x: Tensor, node: UOp, device: str | None) -> Tensor:
    """Return a tensor of the node with the parameter flag of `x` and its gradient brought along."""
    tensor = x._from_uop(node)
    tensor.is_param = x.is_param
    if x.grad is not None:
        tensor.grad = x.grad.to(device)
    return tensor


def clone(x: Tensor, device: str | tuple[str, ...] | None = None) -> Tensor:
    """Return an independent copy, with storage on `device` (that of `x` unless given), filled when it is computed."""
    target = _single(device)
    return _moved(x, clone_node(x.uop, target), target)


def _single(device: str | tuple[str, ...] | None) -> str | None:
    if isinstance(device, tuple):
        raise DeviceError(f"storage over several devices is not available yet, found {device}")
    return device


def to_device(x: Tensor, device: str | tuple[str, ...] | None) -> Tensor:
    """Return `x` on another device: lazily, but with storage of its own where data enters or leaves."""
    target = Device.canonicalize(_single(device))
    own = x.uop.device
    if own is None or own == target:
        return x
    assert isinstance(own, str)
    if device_type(own) in CREATION_DEVICES or device_type(target) == "DISK":
        return clone(x, target)
    return _moved(x, x.uop.copy_to(target), target)


def contiguous(x: Tensor) -> Tensor:
    """Return `x` marked to be computed in contiguous layout, or itself when it is weak, marked, deviceless or storage."""
    node = x.uop
    if dtypes.is_weak(node.dtype) or node.op is Ops.CONTIGUOUS or node.device is None:
        return x
    while node.op in (Ops.DETACH, Ops.CONTIGUOUS_BACKWARD, Ops.RESHAPE):
        node = node.src[0]
    return x if has_buffer_identity(node, after_ok=True) else x._from_uop(x.uop.contiguous())


def assign_tensor(x: Tensor, value: Any) -> Tensor:
    """Write `value`, broadcast, into `x`; scalars and lists take its dtype. A write to a file happens at once.

    Raises:
        DTypeError: a tensor value has another dtype.
        DeviceMismatch: a tensor value is on another device and the target is not a file.
        ShapeError: the value does not broadcast to the target.
    """
    if not isinstance(value, type(x)):
        value = x._value_like(value)
    elif dtypes.is_weak(value.dtype):
        value = value.cast(x.dtype)
    record_write(x, value)
    if isinstance(x.uop.device, str) and device_type(x.uop.device) == "DISK":
        realize_tensors([x])
    return x


def callify_tensors(tensors: Sequence[Tensor]) -> None:
    """Give the tensors storage whose pending writes are grouped under one deferred call."""
    pending = Pending([t.uop for t in tensors])
    if pending.sink is None:
        return
    call = callify(pending.sink)
    states = {node: base for node, base in pending.replaced.items() if node.op is Ops.AFTER}
    for tensor in tensors:
        node = pending.replaced.get(tensor.uop)
        if node is not None:
            bases = {base: base.after(call) for base in states.values()}
            tensor.uop = node.substitute(bases)


def linear_with_vars(tensors: Sequence[Tensor]) -> tuple[UOp, dict[str, int]]:
    """Return the LINEAR that would compute the tensors, over the parameters of its call, and the values of its variables."""
    pending = Pending([t.uop for t in tensors])
    if pending.sink is None:
        return UOp(Ops.LINEAR), {}
    call = callify(pending.sink)
    bound = [a.unbind() for a in call.src[1:] if a.op is Ops.BIND]
    return schedule_body(call.src[0], Device.DEFAULT), {v.arg.name: value for v, value in bound}


def as_param(x: Tensor, slot: int) -> Tensor:
    """Return the tensor as parameter `slot` of a call's body: storage of its shape, dtype and device."""
    device = x.uop.device
    node = UOp.param(slot, x.dtype, (x.numel(),), device if isinstance(device, str) else None)
    return x._from_uop(node._movement(Ops.RESHAPE, tuple(x.shape)))
