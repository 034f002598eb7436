"""Graph over values on several devices -> one graph per device, and what travels between them.

In: a graph of `spec_tensor` in which a MULTI, or a COPY to several devices, stands for a value over
devices and other nodes read it as one value. Out: each such value is a MULTI of one value per
device, and nothing else reads a MULTI.

Operations on values that are split alike stay on their devices. A replicated operand is cut where
another one is split; operands that are split differently take the split of the first. Movements
carry the split along where the order of the elements allows it, and are applied to a replicated
copy where it does not. A reduction over the split axis becomes an allreduce.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tg_core.config import ALLREDUCE_CAST
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.schedule.allreduce import allreduce
from tg_core.schedule.shards import (
    assembled,
    bounds_of,
    cut,
    multi,
    on_device,
    replicated,
    resharded,
)
from tg_core.uop.graph import toposort
from tg_core.uop.ops import GroupOp, Ops, UOp
from tg_core.uop.passes import verified
from tg_core.uop.shapes import sint_prod

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["expand_shards"]

Partials = tuple[Ops, list[UOp]]
"""What an allreduce combined: its operation and one value per device."""

_LOCAL = (
    *GroupOp.ALU,
    Ops.CAST,
    Ops.BITCAST,
    Ops.CONTIGUOUS,
    Ops.CONTIGUOUS_BACKWARD,
    Ops.DETACH,
)


def expand_shards(roots: Sequence[UOp]) -> list[UOp]:
    """Return graphs in which every value over several devices is a MULTI that only its graph's
    root, a COPY's replacement or nothing reads.

    Raises:
        DeviceError: an operation cannot work on values over several devices.
    """
    done: dict[UOp, UOp] = {}
    partials: dict[UOp, Partials] = {}
    for node in toposort(roots, _unbound, enter_calls=False):
        sources = tuple(done[source] for source in node.src) if _unbound(node) else node.src
        rebuilt = UOp(node.op, sources, node.arg, node.tag) if sources != node.src else node
        done[node] = _expanded(rebuilt, partials)
    results = [done[root] for root in roots]
    verified("expand-shards", "tensor", UOp.sink(*results))
    return results


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def _expanded(node: UOp, partials: dict[UOp, Partials]) -> UOp:
    if node.op is Ops.MULTI:
        return node
    if node.op is Ops.COPY and isinstance(node.arg, tuple):
        return _copied_to_several(node.src[0], node.arg)
    if not any(source.op is Ops.MULTI for source in node.src):
        return node
    if node.op is Ops.REDUCE_AXIS:
        return _reduce(node, partials)
    if node.op is Ops.CAST and node.src[0] in partials and ALLREDUCE_CAST.value:
        return _cast(node, partials)
    if node.op in _LOCAL:
        return _elementwise(node)
    if node.op is Ops.RESHAPE and node.src[0] in partials:
        return _reshape_sums(node, partials)
    rule = _RULES.get(node.op)
    if rule is None:
        raise DeviceError(
            f"shard: {node.op.name.lower()} does not work on a value over several devices"
            f" ({node.src[0].device}); move it to one with .to()"
        )
    return rule(node)


# ---- elementwise


def _elementwise(node: UOp) -> UOp:
    """Apply an operation to the parts, split as the first split operand is."""
    operands = [source for source in node.src if source.op is Ops.MULTI]
    devices = operands[0].arg.devices
    split = next((value for value in operands if value.arg.axis is not None), None)
    if split is None:
        sources = [s.src if s.op is Ops.MULTI else (s,) * len(devices) for s in node.src]
        return _each(node, sources, devices, None)
    axis, bounds = split.arg.axis, bounds_of(split)
    placed = [resharded(source, devices, axis, bounds) for source in node.src]
    sources = [p.src if p.op is Ops.MULTI else (p,) * len(devices) for p in placed]
    if node.op is Ops.BITCAST and axis == len(node.shape) - 1:
        whole = all(
            size * node.src[0].dtype.itemsize % node.arg.itemsize == 0
            for size in (end - begin for begin, end in pairwise(bounds))
        )
        if not whole:
            return _each(node, [replicated(split).src], devices, None)
    return _each(node, sources, devices, axis)


def _each(
    node: UOp, sources: Sequence[tuple[UOp, ...]], devices: tuple[str, ...], axis: int | None
) -> UOp:
    parts = [UOp(node.op, tuple(own), node.arg, node.tag) for own in zip(*sources)]
    return multi(parts, devices, axis)


# ---- reductions


def _reduce(node: UOp, partials: dict[UOp, Partials]) -> UOp:
    source = node.src[0]
    op, axes = node.arg
    parts = [UOp(node.op, (part,), node.arg, node.tag) for part in source.src]
    axis = source.arg.axis
    if axis not in axes:
        return multi(parts, source.arg.devices, axis)
    result = allreduce(op, parts, source.arg.devices)
    partials[result] = (op, parts)
    return result


def _reshape_sums(node: UOp, partials: dict[UOp, Partials]) -> UOp:
    """Reshape what was combined, and remember the partials in the same shape."""
    result = _everywhere(node)
    op, parts = partials[node.src[0]]
    partials[result] = (op, [part._movement(Ops.RESHAPE, node.marg) for part in parts])
    return result


def _cast(node: UOp, partials: dict[UOp, Partials]) -> UOp:
    """CAST(allreduce(x...)) to a narrower float -> allreduce(CAST(x)...): less travels."""
    target, source = node.arg, node.src[0]
    if not dtypes.is_float(target) or target.itemsize >= source.dtype.itemsize:
        return _elementwise(node)
    op, parts = partials[source]
    return allreduce(op, [part.cast(target) for part in parts], source.arg.devices)


# ---- transfers


def _copied_to_several(value: UOp, devices: tuple[str, ...]) -> UOp:
    if value.op is not Ops.MULTI:
        return multi([on_device(value, device) for device in devices], devices, None)
    if value.arg.devices == devices:
        return value
    return multi([assembled(value, device) for device in devices], devices, None)


def _copy(node: UOp) -> UOp:
    return assembled(node.src[0], node.arg)


def _select(node: UOp) -> UOp:
    part: UOp = node.src[0].src[node.arg]
    return part


# ---- movement


def _moved(value: UOp, op: Ops, args: Sequence[Any], axis: int | None) -> UOp:
    """Apply a movement to each part, with the argument of each."""
    parts = [part._movement(op, arg) for part, arg in zip(value.src, args, strict=True)]
    return multi(parts, value.arg.devices, axis)


def _everywhere(node: UOp) -> UOp:
    """Apply a movement to all of the value on each device."""
    value = replicated(node.src[0])
    return _moved(value, node.op, [node.marg] * len(value.src), None)


def _reshape(node: UOp) -> UOp:
    value, new = node.src[0], node.marg
    axis = value.arg.axis
    if axis is None:
        return _everywhere(node)
    before = sint_prod(value.shape[:axis])
    after = sint_prod(value.shape[axis + 1 :])
    for target in range(len(new)):
        inner = sint_prod(new[target + 1 :])
        if not _is_same(sint_prod(new[:target]), before):
            continue
        ends = [_scaled(end, after, inner) for end in bounds_of(value)]
        if any(end is None for end in ends) or ends[-1] != new[target]:
            continue
        sizes = [end - begin for begin, end in pairwise(ends)]  # type: ignore[operator]  # none is None
        args = [(*new[:target], size, *new[target + 1 :]) for size in sizes]
        return _moved(value, Ops.RESHAPE, args, target)
    return _everywhere(node)


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def _scaled(end: int, old: Any, new: Any) -> int | None:
    """Return `end * old / new`, or None where that is no integer."""
    if _is_same(old, new):
        return end
    if not isinstance(old, int) or not isinstance(new, int) or not new or end * old % new:
        return None
    return end * old // new


def _expand(node: UOp) -> UOp:
    value = node.src[0]
    axis, sizes = value.arg.axis, node.marg
    if axis is None or not _is_same(value.shape[axis], sizes[axis]):
        return _everywhere(node)
    args = [(*sizes[:axis], p.shape[axis], *sizes[axis + 1 :]) for p in value.src]
    return _moved(value, Ops.EXPAND, args, axis)


def _permute(node: UOp) -> UOp:
    value = node.src[0]
    axis = value.arg.axis
    target = None if axis is None else node.arg.index(axis)
    return _moved(value, Ops.PERMUTE, [node.arg] * len(value.src), target)


def _shrink(node: UOp) -> UOp:
    value = node.src[0]
    axis, limits = value.arg.axis, node.marg
    if axis is None:
        return _everywhere(node)
    begin, end = limits[axis]
    if not isinstance(begin, int) or not isinstance(end, int):
        return _everywhere(node)
    kept = cut(value, axis, begin, end)
    args = [(*limits[:axis], (0, part.shape[axis]), *limits[axis + 1 :]) for part in kept.src]
    return _moved(kept, Ops.SHRINK, args, axis)


def _pad(node: UOp) -> UOp:
    value = node.src[0]
    axis, pads = value.arg.axis, node.marg
    if axis is None or not all(isinstance(pad, int) for pad in pads[axis]):
        return _everywhere(node)
    low, high = pads[axis]
    last = len(value.src) - 1
    args = []
    for place in range(len(value.src)):
        own = (low if place == 0 else 0, high if place == last else 0)
        args.append((*pads[:axis], own, *pads[axis + 1 :]))
    return _moved(value, Ops.PAD, args, axis)


def _flip(node: UOp) -> UOp:
    value = node.src[0]
    axis = value.arg.axis
    if axis is None or axis in node.arg:
        return _everywhere(node)
    return _moved(value, Ops.FLIP, [node.arg] * len(value.src), axis)


_RULES: dict[Ops, Callable[[UOp], UOp]] = {
    Ops.COPY: _copy,
    Ops.MSELECT: _select,
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.SHRINK: _shrink,
    Ops.PAD: _pad,
    Ops.FLIP: _flip,
}
