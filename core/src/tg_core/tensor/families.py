"""Which live tensors are the same value, and which only compute an equal one.

Equal graphs are one node. A tensor and the views taken of it are a *family*: they share the
storage that the value gets, and see each other's writes. Another tensor of the same node was built
by itself and stays a value of its own: before the node gets storage, it becomes a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.tensor.registry import live_tensors
from tg_core.tensor.states import ALIASING
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.tensor.tensor import Tensor


def join_family(view: Tensor, source: Tensor) -> None:
    """Note that a tensor is a view of another."""
    if source._family is None:
        source._family = object()
    view._family = source._family


def relink(chain: list[UOp], node: UOp) -> UOp:
    """Put a chain of aliasing operations, given from the top down, over another node."""
    for link in reversed(chain):
        node = UOp(link.op, (node, *link.src[1:]), link.arg, link.tag)
    return node


def keep_apart(owners: Mapping[UOp, Tensor]) -> None:
    """Make copies, still lazy, of the tensors that compute what others are about to store.

    Args:
        owners: nodes that are to get storage, each with the tensor it is for: one of that node, or
            a view of one. Views whose family is not known may be of any tensor, and share.
    """
    last = {node: node for node in owners}
    copies: dict[tuple[UOp, int], UOp] = {}
    for tensor in live_tensors():
        chain: list[UOp] = []
        node = tensor.uop
        while node not in owners and node.op in ALIASING:
            chain.append(node)
            node = node.src[0]
        owner = owners.get(node)
        if owner is None or tensor is owner:
            continue
        if owner._family is None and owner.uop is not node:
            continue
        if not chain if tensor._family is None else tensor._family is not owner._family:
            which = node, id(tensor._family or tensor)
            if which not in copies:
                # one more marker each, so that no two copies are one node
                copies[which] = last[node] = UOp(Ops.CONTIGUOUS, (last[node],))
            tensor.uop = relink(chain, copies[which])
