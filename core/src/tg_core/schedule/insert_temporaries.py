"""Tensor graph -> tensor graph in which every materialised value is a write to storage.

Out: each chosen value has become a view of `AFTER(buffer, STORE(view(buffer), value))`, so that
    kernels are exactly the STOREs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.schedule.storage_view import greatest_numel, storage_view
from tg_core.schedule.views import is_whole_view
from tg_core.uop.graph import with_sources
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def stored(value: UOp, device: str | tuple[str, ...] | None) -> UOp:
    """Return a value's state in fresh storage, seen in the value's shape."""
    assert not isinstance(device, tuple)
    buffer = UOp.buffer(greatest_numel(value.shape), value.dtype, device)
    state = buffer.after(storage_view(buffer, value.shape).store(value))
    return storage_view(state, value.shape)


def insert_temporaries(
    order: Sequence[UOp], chosen: Collection[UOp], default_device: str | tuple[str, ...] | None
) -> UOp:
    """Rebuild a graph with the chosen values written to storage.

    Args:
        order: the graph in topological order, its root last.
        chosen: values to materialise.
        default_device: where values without a device are computed.
    """
    done: dict[UOp, UOp] = {}
    for node in order:
        rebuilt = with_sources(node, done)
        if node.op is Ops.BITCAST and node.arg.itemsize != node.src[0].dtype.itemsize:
            rebuilt = _bitcast_storage(rebuilt)
        if node in chosen:
            value = rebuilt.src[0] if rebuilt.op is Ops.CONTIGUOUS else rebuilt
            rebuilt = stored(value, node.device or default_device)
        elif node.op is Ops.STORE and rebuilt.src[1].op is Ops.CONTIGUOUS:
            rebuilt = UOp(Ops.STORE, (rebuilt.src[0], rebuilt.src[1].src[0], *rebuilt.src[2:]))
        done[node] = rebuilt
    return done[order[-1]]


def _bitcast_storage(node: UOp) -> UOp:
    """BITCAST(view(state)) -> view(BITCAST(state)): memory is reinterpreted as a whole, then seen
    in a shape.
    """
    source = node.src[0]
    assert is_whole_view(source)
    while source.op is Ops.RESHAPE:
        source = source.src[0]
    return storage_view(UOp(Ops.BITCAST, (source,), node.arg), node.shape)
