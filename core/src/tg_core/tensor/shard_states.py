"""What realizing and writing need to know of tensors over several devices.

Such a tensor holds a graph over MULTI nodes, which are one value each. Before anything runs, every
live tensor's graph is expanded: what is left is one graph per device under one MULTI, and
everything below works on the parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import DeviceError
from tg_core.tensor.registry import live_tensors
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_core.tensor.tensor import Tensor

__all__ = ["expand_live_shards", "expanded", "note_shards", "parts_of"]

_made = False
"""Whether a tensor was ever put on several devices: most programs never do."""


def note_shards() -> None:
    """Note that from now on graphs may hold values over several devices."""
    global _made
    _made = True


def expanded(node: UOp) -> UOp:
    """Return a value over several devices as the MULTI of its parts."""
    from tg_core.schedule.expand_shards import expand_shards

    return expand_shards([node])[0]


def expand_live_shards(requested: Sequence[Tensor]) -> None:
    """Expand the graphs of all live tensors; nothing where no tensor was ever sharded.

    Raises:
        DeviceError: an operation of a requested tensor cannot work on values over several devices.
            What others hold is left as it is.
    """
    if not _made:
        return
    # most processes have one device
    from tg_core.schedule.expand_shards import expand_shards

    concerned = [tensor for tensor in live_tensors() if _reads_several(tensor.uop)]
    try:
        nodes = expand_shards([tensor.uop for tensor in concerned])
    except DeviceError:
        expand_shards([tensor.uop for tensor in requested])
        nodes = [_expanded_or_same(tensor.uop) for tensor in concerned]
    for tensor, node in zip(concerned, nodes):
        tensor.uop = node


def _expanded_or_same(node: UOp) -> UOp:
    try:
        return expanded(node)
    except DeviceError:
        return node


def _reads_several(node: UOp) -> bool:
    if node.op is Ops.MULTI and not any(_reads_several(part) for part in node.src):
        return False
    order = toposort((node,), _unbound, enter_calls=False)
    return any(n.op is Ops.MULTI or (n.op is Ops.COPY and isinstance(n.arg, tuple)) for n in order)


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def parts_of(nodes: Sequence[UOp]) -> Iterable[UOp]:
    """Return the nodes, with the parts in place of each MULTI."""
    for node in nodes:
        if node.op is Ops.MULTI:
            yield from node.src
        else:
            yield node
