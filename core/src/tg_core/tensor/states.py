"""What a tensor's node says about its storage.

A *state* is a BUFFER, or an AFTER chain of writes on one. A tensor that was written holds the
newest state; tensors that were computed from an older state keep it.
"""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.uop.ops import GroupOp, Ops, UOp

CREATION_DEVICES = frozenset(("DISK", "NPY", "PYTHON"))
"""Types of devices that hold data which came from outside."""
ALIASING = frozenset((*GroupOp.Movement, Ops.BITCAST, Ops.DETACH))
"""Operations whose result shares the storage of their source."""


def device_type(device: str) -> str:
    """Return the part of a device name before the colon."""
    return device.split(":", 1)[0]


def storage_base(node: UOp) -> UOp:
    """Return the node under views, bitcasts and detach markers."""
    while node.op in ALIASING:
        node = node.src[0]
    return node


def has_buffer_identity(node: UOp, after_ok: bool = False) -> bool:
    """Tell whether a node is storage or a pure reshape of it; `after_ok` also allows pending
    writes.
    """
    while node.op is Ops.RESHAPE or (after_ok and node.op is Ops.AFTER):
        node = node.src[0]
    return node.op in GroupOp.Storage and node.shape != ()


def is_realized(node: UOp) -> bool:
    """Tell whether a node is, through views, an allocated buffer with no pending writes."""
    base = storage_base(node)
    if base.op is Ops.MULTI:
        return all(is_realized(p) or is_virtual(p) for p in base.src)
    return base.op is Ops.BUFFER and base.arg.slot >= 0


def is_virtual(node: UOp) -> bool:
    """Tell whether a value needs no storage: it has no device, so it is made of constants alone."""
    return node.device is None


def pending_storage(value: UOp, device: str | None) -> UOp:
    """Return a value as a pending write into fresh storage of its own, in its shape."""
    if dtypes.is_weak(value.dtype):
        raise DTypeError(
            f"storage: {value.dtype.name} has no width, cast it to a concrete dtype first"
        )
    # importing tensors loads neither devices nor the scheduler
    from tg_core.device import new_buffer_uop
    from tg_core.schedule.storage_view import greatest_numel, storage_view

    while value.op is Ops.CONTIGUOUS:
        value = value.src[0]
    buffer = new_buffer_uop(device, greatest_numel(value.shape), value.dtype)
    return storage_view(buffer.after(storage_view(buffer, value.shape).store(value)), value.shape)
