"""Gradients of and through values over several devices.

A value over devices is a MULTI of its parts. A graph that was built before something was realized
may read the parts alone, so the gradient of a MULTI is what reached it and what reached its parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.schedule.allreduce import allreduce
from tg_core.schedule.shards import bounds_of, multi, part_of
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["gradients_of_parts", "is_part_of", "joined_gradient", "with_parts"]


def gradients_of_parts(node: UOp, grad: UOp) -> tuple[UOp | None, ...]:
    """Split the gradient of a MULTI: each part gets its elements; of equal copies, the first gets
    all.
    """
    axis, devices = node.arg.axis, node.arg.devices
    if axis is None:
        return (_on(grad, devices[0]), *(None,) * (len(devices) - 1))
    bounds = bounds_of(node)
    return tuple(
        _on(part_of(grad, axis, begin, end), device)
        for device, begin, end in zip(devices, bounds, bounds[1:])
    )


def _on(grad: UOp, device: str) -> UOp:
    return grad if grad.device in (None, device) else grad.copy_to(device)


def joined_gradient(
    node: UOp, grads: Mapping[UOp, UOp], readers: Mapping[UOp, Collection[UOp]]
) -> UOp | None:
    """Return the gradient of a MULTI that was asked for.

    Args:
        node: the MULTI.
        grads: the gradients of all nodes.
        readers: the nodes between the targets and the root that read each node.

    Returns:
        A value over the same devices, or None where nothing was differentiated.
    """
    if not any(reader is not node for part in node.src for reader in readers.get(part, ())):
        return grads.get(node)
    axis, devices = node.arg.axis, node.arg.devices
    if axis is None:
        found = [grads[part] for part in node.src if part in grads]
        if not found:
            return None
        zero = UOp.const(0, node.dtype)._broadcast_to(node.shape)
        return allreduce(Ops.ADD, [grads.get(part, zero) for part in node.src], devices)
    return multi([_or_zero(part, grads) for part in node.src], devices, axis)


def _or_zero(part: UOp, grads: Mapping[UOp, UOp]) -> UOp:
    found = grads.get(part)
    return UOp.const(0, part.dtype)._broadcast_to(part.shape) if found is None else found


def is_part_of(node: UOp, graph: Collection[UOp]) -> bool:
    """Tell whether a graph reads a node, or a part of it where it is over several devices."""
    return node in graph or (node.op is Ops.MULTI and any(part in graph for part in node.src))


def with_parts(targets: Sequence[UOp]) -> list[UOp]:
    """Return the targets, and the parts of those over several devices."""
    return [*targets, *(part for node in targets if node.op is Ops.MULTI for part in node.src)]
