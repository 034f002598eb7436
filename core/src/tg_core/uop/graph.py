"""Walking and rebuilding whole graphs, without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tg_core.uop.uop import UOp


def has_own_body(node: UOp) -> bool:
    """Tell whether a node is a CALL whose body refers to its own parameters alone.

    The body of a call of a foreign function holds the pointer, which is part of the graph around.
    """
    return node.op is Ops.CALL and node.src[0].op is not Ops.CUSTOM_FUNCTION


def toposort(
    roots: Iterable[UOp],
    gate: Callable[[UOp], bool] | None = None,
    enter_calls: bool = True,
) -> list[UOp]:
    """Return everything the roots read and the roots, each once, sources before their readers.

    Args:
        roots: where to start.
        gate: nodes for which it is False are listed, but their sources are not visited through
            them.
        enter_calls: visit the bodies of CALLs, which are graphs of their own, too.
    """
    order: list[UOp] = []
    seen: set[UOp] = set()
    plain = gate is None and enter_calls
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        # the nodes that are open, and of each what is left of its sources
        path = [root]
        left = [iter(root.src if plain else _visited(root, gate, enter_calls))]
        while path:
            for node in left[-1]:
                if node in seen:
                    continue
                seen.add(node)
                sources = node.src if plain else _visited(node, gate, enter_calls)
                if sources:
                    path.append(node)
                    left.append(iter(sources))
                    break
                order.append(node)
            else:
                left.pop()
                order.append(path.pop())
    return order


def _visited(node: UOp, gate: Callable[[UOp], bool] | None, enter_calls: bool) -> tuple[UOp, ...]:
    """Return the sources of a node that a walk visits."""
    if gate is not None and not gate(node):
        return ()
    return node.src if enter_calls or not has_own_body(node) else node.src[1:]


def with_sources(node: UOp, done: Mapping[UOp, UOp], enter_calls: bool = False) -> UOp:
    """Return a node with its sources replaced; the body of a CALL stays unless `enter_calls`."""
    if not enter_calls and has_own_body(node):
        src = (node.src[0], *[done[s] for s in node.src[1:]])
    else:
        src = tuple([done[s] for s in node.src])
    return node if src == node.src else type(node)(node.op, src, node.arg, node.tag)


def substitute_many(
    roots: Iterable[UOp], mapping: Mapping[UOp, UOp], enter_calls: bool = False
) -> list[UOp]:
    """Apply one substitution to several graphs with a shared memo; see `UOp.substitute`."""
    roots = list(roots)
    if not mapping:
        return roots

    def inside(node: UOp) -> bool:
        return node not in mapping

    done: dict[UOp, UOp] = dict(mapping)
    for node in toposort(roots, inside, enter_calls):
        if node not in done:
            done[node] = with_sources(node, done, enter_calls)
    return [done[root] for root in roots]
