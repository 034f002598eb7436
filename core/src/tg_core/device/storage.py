"""Which buffer a BUFFER node stands for. Storage lives as long as its node."""

from __future__ import annotations

import itertools

from tg_core.device.buffer import Buffer
from tg_core.device.registry import Device
from tg_core.device.target import split_name
from tg_core.dtype import DType
from tg_core.errors import DeviceError
from tg_core.uop.ops import BufferArg, Ops, UOp

__all__ = ["bind_buffer", "buffer_of", "new_buffer_uop", "slot_mark"]

_BUFFER = "_buffer"
"""Attribute of a BUFFER node that holds its storage, which so goes when the node does."""
_slots = itertools.count(1)


def new_buffer_uop(
    device: str | None, size: int, dtype: DType, buffer: Buffer | None = None
) -> UOp:
    """Return a new BUFFER node, with its own storage that is allocated when it is first needed.

    Args:
        device: where; None is the default device.
        size: how many elements.
        dtype: of which dtype.
        buffer: existing storage to use.

    Raises:
        DeviceNotFound: no plugin in use registers the device's type.
    """
    name = Device.require(device)
    uop = UOp(Ops.BUFFER, (), BufferArg(next(_slots), dtype, size, name))
    if buffer is None:
        buffer = Buffer(name, size, dtype)
    if split_name(name)[2] or buffer.options.external is not None:
        # A file, or memory of the caller, is there whether or not anything was computed into it.
        buffer.ensure_allocated()
    uop.__dict__[_BUFFER] = buffer
    return uop


def buffer_of(uop: UOp) -> Buffer | None:
    """Return the buffer of a BUFFER node, or None for any other node and for unbound storage."""
    return uop.__dict__.get(_BUFFER)


def bind_buffer(uop: UOp, buffer: Buffer) -> None:
    """Make `buffer` the storage of a BUFFER node.

    Raises:
        DeviceError: the node is no BUFFER, or the buffer does not fit it.
    """
    if uop.op is not Ops.BUFFER:
        raise DeviceError(f"bind_buffer: {uop.op.name} is not storage")
    arg = uop.arg
    if (arg.size, arg.dtype, arg.device) != (buffer.size, buffer.dtype, buffer.device):
        raise DeviceError(
            f"bind_buffer: {buffer!r} for a BUFFER of {arg.size} {arg.dtype.name} on {arg.device}"
        )
    uop.__dict__[_BUFFER] = buffer


def slot_mark() -> int:
    """Return a number above the slots of existing nodes and below those of nodes made later."""
    return next(_slots)
