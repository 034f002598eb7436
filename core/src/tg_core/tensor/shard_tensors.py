"""Tensors over several devices (`spec/tensor.md`, section 6)."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tg_core.device import Device, new_buffer_uop
from tg_core.errors import DeviceError, IndexingError, ShapeError
from tg_core.schedule.shards import bounds_of, multi, part_of, split_sizes
from tg_core.schedule.storage_view import greatest_numel, storage_view
from tg_core.tensor.shard_states import expanded, note_shards
from tg_core.uop.mixin.shape_utils import resolve_axis
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.dtype import DType
    from tg_core.tensor.tensor import Tensor

__all__ = ["empty_over", "shard", "shard_like"]


def shard(x: Tensor, devices: tuple[str, ...], axis: int | None = None) -> Tensor:
    """Return a tensor over several devices; see the method."""
    names = _checked_devices(devices)
    if axis is not None and not x.ndim:
        raise IndexingError(f"shard: axis {axis} of a tensor without axes")
    place = None if axis is None else resolve_axis("shard", axis, x.ndim)
    if place is None and x.uop.device == names and expanded(x.uop).arg.axis is None:
        return x
    if len(names) == 1:
        return x.to(names[0])
    if place is None:
        return _sharded(x, names, None, ())
    size = x.shape[place]
    if not isinstance(size, int):
        of = ", ".join(node.arg.name for node in size.toposort() if node.op is Ops.PARAM)
        raise ShapeError(f"shard: axis {place} has a symbolic size, of {of}; split another one")
    return _sharded(x, names, place, (0, *accumulate(split_sizes(size, len(names)))))


def _sharded(
    x: Tensor, devices: tuple[str, ...], axis: int | None, bounds: Sequence[int]
) -> Tensor:
    note_shards()
    parts = []
    for place, device in enumerate(devices):
        part = x.uop if axis is None else part_of(x.uop, axis, *bounds[place : place + 2])
        parts.append(_on(part, device))
    return x._moved(multi(parts, devices, axis))


def shard_like(x: Tensor, y: Tensor) -> Tensor:
    """Return a tensor placed as another is; see the method."""
    device = x._same_kind(y, "shard_like").uop.device
    if not isinstance(device, tuple):
        return x.to(device) if device is not None else x
    value = expanded(y.uop)
    axis = value.arg.axis
    if axis is None:
        return x.shard(device)
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(
            f"shard_like: shape {tuple(x.shape)} cannot be split as {tuple(y.shape)} is"
        )
    return _sharded(x, device, axis, bounds_of(value))


def empty_over(devices: Sequence[str], like: UOp | None, shape: Sequence[Any], dtype: DType) -> UOp:
    """Return storage over several devices whose content is undefined.

    Args:
        devices: where the storage is.
        like: a value over the same devices that says how it is split; all of it is on each device
            when None.
        shape: the sizes of the whole.
        dtype: what is stored.
    """
    note_shards()
    names = _checked_devices(devices)
    value = None if like is None else expanded(like)
    axis = None if value is None else value.arg.axis
    parts = []
    for place, device in enumerate(names):
        own = list(shape)
        if value is not None and axis is not None:
            own[axis] = value.src[place].shape[axis]
        if 0 in own:
            parts.append(UOp.const(0, dtype)._broadcast_to(tuple(own)))
        else:
            buffer = new_buffer_uop(device, greatest_numel(own), dtype)
            parts.append(storage_view(buffer, own))
    return multi(parts, names, axis)


def _checked_devices(devices: Sequence[str]) -> tuple[str, ...]:
    if isinstance(devices, str) or not devices:
        raise DeviceError(f"shard: expected a tuple of device names, found {devices!r}")
    names = tuple(Device.require(device) for device in devices)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DeviceError(f"shard: {', '.join(twice)} named more than once in {names}")
    return names


def _on(part: UOp, device: str) -> UOp:
    """Return a part on a device, with storage of its own there where data enters."""
    from tg_core.tensor import storage

    if part.device == device:
        # A copy, as from any other device: writes to the one are not seen by the other.
        return part.contiguous()
    return part if part.device is None else storage.to_device(part, device)
