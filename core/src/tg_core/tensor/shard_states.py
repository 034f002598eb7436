"""What realizing and writing need to know of tensors over several devices.

Such a tensor holds a graph over MULTI nodes, which are one value each. Before anything runs, every
live tensor's graph is expanded: what is left is one graph per device under one MULTI, and
everything below works on the parts.

A view of storage stays a view. Where its parts are views of the parts below, it becomes a MULTI of
those; where the split does not carry over (a flip along the split axis), its parts would be copies,
so it is left as it is: views over the MULTI of the storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import DeviceError
from tg_core.tensor.registry import live_tensors
from tg_core.tensor.states import ALIASING, storage_base
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_core.tensor.tensor import Tensor

__all__ = ["expand_live_shards", "expanded", "note_shards", "parts_of", "stored_base"]

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
        if stored_base(tensor.uop) is None or _is_split_view(tensor.uop, node):
            tensor.uop = node


def stored_base(node: UOp) -> UOp | None:
    """Return the MULTI of storage that a value over several devices is a view of, or None."""
    base = storage_base(node)
    if base.op is not Ops.MULTI or not all(map(_is_stored, base.src)):
        return None
    return base


def _is_stored(part: UOp) -> bool:
    # most processes have one device
    from tg_core.schedule.graph_facts import is_state

    return 0 in part.shape or is_state(storage_base(part))


def _is_split_view(node: UOp, value: UOp) -> bool:
    """Tell whether the parts of a view are views, which writes go to as they go to the view."""
    while node.op in ALIASING:
        # a step rounds up to whole strides by a padding, which parts have in other places
        if node.op is Ops.PAD:
            return False
        node = node.src[0]
    return value.op is Ops.MULTI and all(map(_is_stored, value.src))


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
    """Return the nodes, with the parts in place of each MULTI and of each view of one."""
    for node in nodes:
        base = storage_base(node)
        if base.op is Ops.MULTI:
            yield from base.src
        else:
            yield node
