"""Values over several devices: a MULTI, its parts, and moving parts between devices."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from tg_core.errors import ShapeError
from tg_core.uop.ops import MultiArg, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "assembled",
    "bounds_of",
    "cut",
    "multi",
    "on_device",
    "part_of",
    "replicated",
    "resharded",
    "split_sizes",
]


def multi(parts: Sequence[UOp], devices: tuple[str, ...], axis: int | None) -> UOp:
    """Return the value whose parts are on the devices, joined along `axis` or equal when None."""
    node = UOp(Ops.MULTI, tuple(parts), MultiArg(axis, devices))
    node.shape  # noqa: B018 - parts that do not fit fail here
    return node


def split_sizes(size: int, count: int) -> list[int]:
    """Return how many of `size` elements each of `count` parts gets: the first get one more where
    it does not divide.
    """
    base, more = divmod(size, count)
    return [base + (position < more) for position in range(count)]


def bounds_of(value: UOp) -> tuple[int, ...]:
    """Return where the parts of a sharded MULTI begin along its axis, and where the last ends."""
    axis = value.arg.axis
    return (0, *accumulate(_size(part, axis) for part in value.src))


def _size(part: UOp, axis: int) -> int:
    size = part.shape[axis]
    if not isinstance(size, int):
        raise ShapeError(f"shard: axis {axis} of {part.shape} has a symbolic size")
    return size


def part_of(value: UOp, axis: int, begin: int, end: int) -> UOp:
    """Return elements `begin` to `end` along an axis; a scalar, which is broadcast, as it is."""
    if not value.shape or (begin == 0 and value.shape[axis] == end):
        return value
    limits = tuple((begin, end) if a == axis else (0, size) for a, size in enumerate(value.shape))
    return value._movement(Ops.SHRINK, limits)


def on_device(part: UOp, device: str) -> UOp:
    """Return a value on a device: itself where it is there, or is on none."""
    return part if part.device in (None, device) else part.copy_to(device)


def assembled(value: UOp, device: str) -> UOp:
    """Return all of a MULTI on one device."""
    if value.arg.axis is None:
        here = [p for p, d in zip(value.src, value.arg.devices) if d == device]
        return here[0] if here else on_device(value.src[0], device)
    axis = value.arg.axis
    kept = [part for part in value.src if part.shape[axis] != 0] or [value.src[0]]
    moved = [on_device(part, device) for part in kept]
    return moved[0].cat(*moved[1:], dim=axis)


def replicated(value: UOp) -> UOp:
    """Return a MULTI with all of the value on each device."""
    if value.arg.axis is None:
        return value
    devices = value.arg.devices
    return multi([assembled(value, device) for device in devices], devices, None)


def resharded(value: UOp, devices: tuple[str, ...], axis: int, bounds: tuple[int, ...]) -> UOp:
    """Return a value split along `axis` at `bounds`.

    Args:
        value: a MULTI over the same devices, or a value on no device.
        devices: where the parts go.
        axis: the axis to split.
        bounds: where the parts begin, and where the last ends.
    """
    if not value.shape:
        return value
    if value.op is not Ops.MULTI:
        parts = [part_of(value, axis, *ends) for ends in pairwise(bounds)]
        return multi(parts, devices, axis)
    if value.arg.axis == axis and bounds_of(value) == bounds:
        return value
    if value.arg.axis is None:
        parts = [part_of(p, axis, *ends) for p, ends in zip(value.src, pairwise(bounds))]
        return multi(parts, devices, axis)
    parts = []
    for device, begin, end in zip(devices, bounds, bounds[1:]):
        parts.append(assembled(cut(value, axis, begin, end), device))
    return multi(parts, devices, axis)


def cut(value: UOp, axis: int, begin: int, end: int) -> UOp:
    """Return elements `begin` to `end` along an axis of a MULTI, each where it is."""
    arg = value.arg
    if arg.axis != axis:
        return multi([part_of(p, axis, begin, end) for p in value.src], arg.devices, arg.axis)
    starts = bounds_of(value)
    parts = []
    for part, first, last in zip(value.src, starts, starts[1:]):
        low = min(max(begin, first), last) - first
        parts.append(part_of(part, axis, low, max(low, min(end, last) - first)))
    return multi(parts, arg.devices, axis)
