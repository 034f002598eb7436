"""A deterministic order of operands: what changes in outer loops comes first.

A sum that is built in this order lets the linearizer hoist its prefix out of the inner loops, and
puts the constant last, where an addressing mode can take it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

_DIVISIONS = frozenset((Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD))
OrderKey: TypeAlias = tuple[tuple[Any, ...], int, tuple[Any, ...]]


def order_key(u: UOp) -> OrderKey:
    """Give the coarse sort key of a node: its loops innermost first, its operation, its name.

    Args:
        u: any node.

    Returns:
        A key that is equal in every process; different nodes may share it.
    """
    found: OrderKey | None = u.__dict__.get("_order_key")
    if found is None:
        ranges = u.ranges
        if not ranges:
            loops: tuple[Any, ...] = ()
        elif len(ranges) == 1:
            loops = (ranges[0].arg[:-1],)
        else:
            loops = tuple(sorted((r.arg[:-1] for r in ranges), reverse=True))
        name: tuple[Any, ...] = ()
        if u.op is Ops.PARAM:
            name = (u.arg.name or "", u.arg.slot)
        elif u.op is Ops.SPECIAL:
            name = (u.arg,)
        elif u.op in _DIVISIONS and u.src[1].op is Ops.CONST:
            # quotients of one loop by different constants are common, hashing them is not cheap
            name = (u.src[1].arg,)
        found = (loops, int(u.op), name)
        u.__dict__["_order_key"] = found
    return found


def precedes(a: UOp, b: UOp) -> bool:
    """Whether `a` sorts before `b`.

    Args:
        a: a node.
        b: a node.

    Returns:
        False for the same node.
    """
    if a is b:
        return False
    key_a, key_b = order_key(a), order_key(b)
    return key_a < key_b if key_a != key_b else a.key < b.key


def _full_key(u: UOp) -> tuple[OrderKey, bytes]:
    return order_key(u), u.key


def in_order(nodes: list[UOp]) -> list[UOp]:
    """Sort distinct nodes.

    Args:
        nodes: the nodes, in any order.

    Returns:
        A new list; hashes of whole graphs are only computed when coarse keys collide.
    """
    count = len(nodes)
    if count < 2:
        return nodes
    if count == 2:
        a, b = nodes
        return [b, a] if precedes(b, a) else nodes
    result = sorted(nodes, key=order_key)
    previous = order_key(result[0])
    for node in result[1:]:
        current = order_key(node)
        if current == previous:
            return sorted(nodes, key=_full_key)
        previous = current
    return result
