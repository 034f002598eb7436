"""Tensor graph -> tensor graph without writes that nobody sees.

In and out: a graph of `spec_tensor`. A STORE into storage that a later STORE covers whole, with no
reader of the state between them, is not computed: the random first weights of a layer that is then
loaded from a file, zeros that are filled.
"""

from __future__ import annotations

from tg_core.uop.graph import toposort, with_sources
from tg_core.uop.ops import Ops, UOp

__all__ = ["drop_dead_writes"]


def drop_dead_writes(root: UOp) -> UOp:
    """Return the graph with every state that is overwritten unread replaced by the one before."""
    order = toposort((root,), enter_calls=False)
    if not any(_is_overwrite(node) for node in order):
        return root
    readers: dict[UOp, int] = {}
    for node in order:
        # each place counts: what stores a state into itself reads it and names it
        for source in node.src:
            readers[source] = readers.get(source, 0) + 1
    earlier: dict[UOp, UOp] = {}
    # The newest write first: what it makes unread includes the readers of older states.
    for node in reversed(order):
        if readers.get(node, 1) and _is_overwrite(node) and _names_target_once(node, readers):
            first = state = node.src[0]
            while _holds_stores_only(state) and readers[state] == 2:
                # The AFTER and the target of its STORE refer to the older state from now on.
                readers[state.src[0]] += 2
                _release(state, readers)
                state = state.src[0]
            if state is not first:
                earlier[first] = state
    return _without(order, earlier)[root] if earlier else root


def _without(order: list[UOp], earlier: dict[UOp, UOp]) -> dict[UOp, UOp]:
    """Return what each node becomes. The state in the place of another changes too, where a write
    before it is dropped.
    """
    done: dict[UOp, UOp] = {}
    for node in order:
        done[node] = done[earlier[node]] if node in earlier else with_sources(node, done)
    return done


def _holds_stores_only(node: UOp) -> bool:
    return node.op is Ops.AFTER and all(effect.op is Ops.STORE for effect in node.src[1:])


def _is_overwrite(node: UOp) -> bool:
    """Tell whether a node is AFTER(s, STORE(s or a reshape of it, v)) of a written state s."""
    if len(node.src) != 2 or not _holds_stores_only(node) or node.src[0].op is not Ops.AFTER:
        return False
    target = node.src[1].src[0]
    while target.op is Ops.RESHAPE:
        target = target.src[0]
    return target is node.src[0] and node.src[1].src[0].numel() == target.numel()


def _names_target_once(node: UOp, readers: dict[UOp, int]) -> bool:
    """Tell whether the STORE of an overwrite, and each reshape on the way to its target, has one
    reader.
    """
    state, store = node.src
    path = store
    while path is not state:
        if readers[path] != 1:
            return False
        path = path.src[0]
    return True


def _release(node: UOp, readers: dict[UOp, int]) -> None:
    """Take back what a node that is no longer read has counted as reader of its sources."""
    stack = [node]
    while stack:
        for source in stack.pop().src:
            readers[source] -= 1
            if readers[source] == 0:
                stack.append(source)
