"""Writes: recording them as new states, which every alias of the storage then holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Device
from tg_core.errors import DeviceMismatch, DTypeError, ShapeError
from tg_core.schedule.graph_facts import is_state
from tg_core.schedule.shards import bounds_of, multi, replicated, resharded
from tg_core.schedule.views import contiguous_view
from tg_core.tensor.families import keep_apart, relink
from tg_core.tensor.registry import live_lock, live_tensors
from tg_core.tensor.shard_states import expand_live_shards, expanded
from tg_core.tensor.states import ALIASING, device_type, pending_storage, storage_base
from tg_core.tensor.writes import note_write, rebind
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.tensor.tensor import Tensor


def clone_node(node: UOp, device: str | None = None) -> UOp:
    """Return the node of an independent copy, with storage on `device` (the same one unless
    given).
    """
    own = node.device
    if isinstance(own, tuple) and device is None:
        return _clone_parts(expanded(node))
    target = Device.require(device or (own if isinstance(own, str) else None))
    value = node if own is None or own == target else node.copy_to(target)
    return pending_storage(value, target)


def _clone_parts(value: UOp) -> UOp:
    """Return a MULTI whose parts each have storage of their own."""
    devices = value.arg.devices
    parts = [
        part if 0 in part.shape else pending_storage(part, device)
        for part, device in zip(value.src, devices)
    ]
    return multi(parts, devices, value.arg.axis)


def _rebase_parts(old: Sequence[UOp], new: Sequence[UOp]) -> None:
    """Let every live tensor over several devices whose parts are views of `old` show `new`."""
    changed = dict(zip(old, new))
    for tensor in live_tensors():
        chain = []
        node = tensor.uop
        while node.op in ALIASING:
            chain.append(node)
            node = node.src[0]
        if node.op is Ops.MULTI:
            parts = [_rebased(part, changed) for part in node.src]
            tensor.uop = relink(chain, multi(parts, node.arg.devices, node.arg.axis))


def _rebased(node: UOp, changed: dict[UOp, UOp]) -> UOp:
    chain = []
    base = node
    while base not in changed and base.op in ALIASING:
        chain.append(base)
        base = base.src[0]
    return relink(chain, changed[base]) if base in changed else node


def _rebase_aliases(old: UOp, new: UOp) -> None:
    """Let every live tensor that is a view, bitcast or detach of `old` be the same of `new`."""
    for tensor in live_tensors():
        chain = []
        node = tensor.uop
        while node is not old and node.op in ALIASING:
            chain.append(node)
            node = node.src[0]
        if node is old:
            tensor.uop = relink(chain, new)


def _owner_base(x: Tensor) -> UOp | None:
    """Return the lowest node under a view without storage that another live tensor holds: a write
    must reach it, and the views between.
    """
    held = {t.uop for t in live_tensors() if t is not x and _may_share(t, x)}
    owner, node = None, x.uop
    while node.op in ALIASING:
        node = node.src[0]
        if node in held:
            owner = node
    return owner


def _may_share(tensor: Tensor, x: Tensor) -> bool:
    return x._family is None or tensor._family is x._family


def _owner_parts(x: Tensor) -> UOp | None:
    """Return `_owner_base` of a tensor over several devices: a value whose parts are all under the
    parts of `x`.
    """
    under: list[dict[UOp, int]] = []
    for part in x.uop.src:
        depths: dict[UOp, int] = {}
        while part.op in ALIASING:
            part = part.src[0]
            depths[part] = len(depths)
        under.append(depths)
    owner, lowest = None, -1
    for tensor in live_tensors():
        parts = tensor.uop.src
        if tensor is x or tensor.uop.op is not Ops.MULTI or len(parts) != len(under):
            continue
        found = [n.get(p, -1) for p, n in zip(parts, under, strict=True) if 0 not in p.shape]
        if found and min(found) > lowest:
            owner, lowest = tensor.uop, min(found)
    return owner


def _checked_value(x: Tensor, value: Tensor) -> UOp:
    if value.dtype is not x.dtype:
        raise DTypeError(
            f"assign: a {x.dtype.name} tensor cannot take {value.dtype.name}; cast the value first"
        )
    if value.shape != x.shape:
        try:
            value = value.expand(x.shape)
        except ShapeError as error:
            raise ShapeError(
                f"assign: value of shape {value.shape} does not fit target of shape {x.shape}"
            ) from error
    node, target = value.uop, x.uop.device
    if target is None or node.device is None or node.device == target:
        return node
    if isinstance(target, str) and device_type(target) == "DISK":
        return node.copy_to(target)
    raise DeviceMismatch(
        f"assign: target {x.shape} is on {target}, value {value.shape} on {node.device};"
        " move it with .to()"
    )


def _is_writable_view(node: UOp) -> bool:
    """Tell whether each element of a view is one element of its storage and no other is."""
    while node.op in ALIASING:
        if node.op in (Ops.PAD, Ops.EXPAND):
            return False
        node = node.src[0]
    return True


def record_write(x: Tensor, value: Tensor) -> None:
    """Record the write of `value` into the storage of `x`, or make `x` a copy of it when it has
    none.

    Raises:
        DTypeError: the dtypes differ.
        DeviceMismatch: the devices differ and the target is not a file.
        ShapeError: the value does not broadcast to the target, or the target is the bytes of
            elements that are not side by side.
    """
    node = _checked_value(x, value)
    with live_lock:
        if isinstance(x.uop.device, tuple):
            expand_live_shards([x])
            if x.uop.op is not Ops.MULTI and _is_writable_view(x.uop):
                _record_whole(x, node)
            else:
                x.uop = expanded(x.uop)
                _record_parts(x, expanded(node))
        else:
            _record(x, node)


def _record_whole(x: Tensor, value: UOp) -> None:
    """Record a write of a value through a view that does not keep the split: the storage takes the
    whole new value.

    Raises:
        ShapeError: the view is a bitcast to a dtype of another size.
    """
    from tg_core.tensor.gradient_rules import put_back

    base = storage_base(x.uop)
    if x.dtype.itemsize != base.dtype.itemsize:
        raise ShapeError(
            f"assign: {x.shape} {x.dtype.name} is a view of {base.dtype.name} that does not keep"
            " the split over devices; assign to a clone of it"
        )
    target = _target(x.uop, base)
    if value.dtype is not target.dtype:
        value = UOp(Ops.BITCAST, (value,), target.dtype)
    placed, written = put_back(base, target, value._broadcast_to(target.shape))
    _record_parts(x._from_uop(base), expanded(written.where(placed, base)))


def _record_parts(x: Tensor, value: UOp) -> None:
    """Record a write of a value into the storage of each part of `x`, on the part's device."""
    target = x.uop
    devices, axis = target.arg.devices, target.arg.axis
    if axis is not None:
        value = resharded(value, devices, axis, bounds_of(target))
    elif value.op is Ops.MULTI:
        value = replicated(value)
    values = value.src if value.op is Ops.MULTI else (value,) * len(devices)
    bases = [storage_base(part) for part in target.src]
    if not all(map(is_state, bases)) and all(map(_is_writable_view, target.src)):
        owner = _owner_parts(x)
        if owner is not None:
            _rebase_parts(owner.src, _clone_parts(owner).src)
            target = x.uop
            bases = [storage_base(part) for part in target.src]
    if not all(
        is_state(base) and _is_writable_view(part)
        for base, part in zip(bases, target.src)
        if 0 not in part.shape
    ):
        rebind(x, _clone_parts(multi(values, devices, axis)))
        return
    written = []
    for part, base, own in zip(target.src, bases, values):
        if 0 in part.shape:
            written.append(base)
            continue
        place = _target(part, base)
        if own.dtype is not place.dtype:
            own = UOp(Ops.BITCAST, (own,), place.dtype)
        note_write(base)
        written.append(base.after(place.store(own)))
    _rebase_parts(bases, written)


def _record(x: Tensor, node: UOp) -> None:
    base = storage_base(x.uop)
    if not is_state(base) and _is_writable_view(x.uop):
        owner = _owner_base(x)
        if owner is not None:
            keep_apart({owner: x})
            _rebase_aliases(owner, clone_node(owner))
            base = storage_base(x.uop)
    if not is_state(base) or not _is_writable_view(x.uop):
        rebind(x, clone_node(node, x.uop.device if isinstance(x.uop.device, str) else None))
        return
    target = _target(x.uop, base)
    if node.dtype is not target.dtype:
        node = UOp(Ops.BITCAST, (node,), target.dtype)
    note_write(base)
    _rebase_aliases(base, base.after(target.store(node)))


def _target(view: UOp, base: UOp) -> UOp:
    """Return the storage that a view shows, as a target of a STORE.

    Bitcasts to a dtype of the same size are left out, as the value can be converted instead. Those
    to another size are moved down to the storage.

    Raises:
        ShapeError: a view is seen as a dtype of another size, and is not one run of storage.
    """
    chain = []
    while view is not base:
        chain.append(view)
        view = view.src[0]
    target = base
    for link in reversed(chain):
        if link.op is Ops.BITCAST:
            if link.arg.itemsize != target.dtype.itemsize:
                target = _bytes_of(target, link)
        elif link.op is not Ops.DETACH:
            target = UOp(link.op, (target, *link.src[1:]), link.arg, link.tag)
    return target


def _bytes_of(view: UOp, bitcast: UOp) -> UOp:
    """Return the BITCAST of a view to another size as a view of a BITCAST of its storage."""
    run = contiguous_view(view)
    old, new = view.dtype.itemsize, bitcast.arg.itemsize
    if run is None or run.offset * old % new or int(run.state.shape[0]) * old % new:  # type: ignore[arg-type]  # storage has a static size
        raise ShapeError(
            f"assign: {bitcast.shape} {bitcast.arg.name} is a view of {view.shape}"
            f" {view.dtype.name} that is not one run of storage; assign to a clone of it"
        )
    storage = UOp(Ops.BITCAST, (run.state,), bitcast.arg)
    begin = run.offset * old // new
    part = storage._movement(Ops.SHRINK, ((begin, begin + run.size * old // new),))
    return part._movement(Ops.RESHAPE, bitcast.shape)
