"""Device and open loops of a node, from its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import DeviceMismatch
from tg_core.uop.graph import has_own_body
from tg_core.uop.opcodes import GroupOp, Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp


def device_of(uop: UOp) -> str | tuple[str, ...] | None:
    """Return the device of a node: its own, else the one that its sources share.

    Raises:
        DeviceMismatch: sources are on different devices.
    """
    if uop.op in GroupOp.Storage:
        own: str | None = uop.arg.device
        return own
    if uop.op is Ops.COPY:
        target: str | tuple[str, ...] = uop.arg
        return target
    if uop.op is Ops.MULTI:
        several: tuple[str, ...] = uop.arg.devices
        return several
    if uop.op is Ops.MSELECT:
        devices = uop.src[0].device
        return devices[uop.arg] if isinstance(devices, tuple) else devices
    if uop.op in (Ops.AFTER, Ops.STORE, Ops.INDEX, Ops.LOAD):
        return uop.src[0].device
    if uop.op in (Ops.CALL, Ops.SINK, Ops.GROUP, Ops.LINEAR, Ops.PROGRAM):
        return None
    found: UOp | None = None
    for source in uop.src:
        if source.device is None:
            continue
        if found is not None and found.device != source.device:
            raise DeviceMismatch(
                f"{uop.op.name.lower()}: operands are on different devices: {found.shape}"
                f" {found.dtype.name} on {found.device} and {source.shape} {source.dtype.name} on"
                f" {source.device}; move one with .to()"
            )
        found = found or source
    return None if found is None else found.device


def ranges_of(uop: UOp) -> tuple[UOp, ...]:
    """Return the loop variables that a node depends on and that are not closed yet, in order."""
    if uop.op in (Ops.END, Ops.REDUCE):
        opened = _merge_ranges(uop.src)
        closed = {s for s in uop.src[1:] if s.op is Ops.RANGE}
        return tuple(r for r in opened if r not in closed)
    if has_own_body(uop):
        return _merge_ranges(uop.src[1:])
    opened = _merge_ranges(uop.src)
    return (*opened, uop) if uop.op is Ops.RANGE else opened


def _merge_ranges(sources: tuple[UOp, ...]) -> tuple[UOp, ...]:
    merged: tuple[UOp, ...] = ()
    for source in sources:
        ranges = source.ranges
        if ranges is merged or not ranges:
            continue
        if not merged:
            merged = ranges
            continue
        extra = [r for r in ranges if r not in merged]
        if extra:
            merged = (*merged, *extra)
    return merged
