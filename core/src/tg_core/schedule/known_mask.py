"""What an elementwise value becomes where a condition in it is known."""

from __future__ import annotations

from typing import Final

from tg_core.dtype import dtypes
from tg_core.uop.graph import with_sources
from tg_core.uop.ops import GroupOp, Ops, UOp
from tg_core.uop.symbolic import simplify

MASKED_OPS: Final = GroupOp.Elementwise | GroupOp.Movement
"""Operations through which a condition decides about elements one by one."""


def where_known(order: list[UOp], mask: UOp, truth: bool) -> UOp:
    """Return a value for the elements where a condition in it holds, or where it does not.

    Args:
        order: the value and what it is computed from elementwise, in topological order.
        mask: the condition, one of these nodes.
        truth: whether it holds.

    Returns:
        A value of the same shape, or a scalar constant.
    """
    done: dict[UOp, UOp] = {mask: UOp.const(truth)}
    for node in order:
        if node in done or node.op not in MASKED_OPS or not any(s in done for s in node.src):
            continue
        if node.op in GroupOp.Movement:
            done[node] = _moved(node, done)
        else:
            done[node] = _folded(node, [done.get(s, s) for s in node.src])
    return done.get(order[-1], order[-1])


def _moved(node: UOp, done: dict[UOp, UOp]) -> UOp:
    source = done[node.src[0]]
    constant = constant_of(source)
    if constant is None:
        return with_sources(node, done)
    if node.op is not Ops.PAD or not constant.const_value:
        return constant
    shape = node.src[0].shape
    return UOp(Ops.PAD, (constant._broadcast_to(shape), *node.src[1:]), node.arg)


def constant_of(node: UOp) -> UOp | None:
    """Return the scalar that all elements of a broadcast constant are."""
    while node.op in (Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.SHRINK, Ops.FLIP):
        node = node.src[0]
    return node if not node.shape and node.const_value is not None else None


def _folded(node: UOp, sources: list[UOp]) -> UOp:
    """Return an elementwise operation of sources of which some are constants."""
    constants = [constant_of(source) for source in sources]
    values = [None if c is None else c.const_value for c in constants]
    if all(c is not None for c in constants):
        scalars = tuple(c for c in constants if c is not None)
        return simplify(UOp(node.op, scalars, node.arg))
    if node.op is Ops.WHERE and values[0] is not None:
        return sources[1] if values[0] else sources[2]
    if node.op in (Ops.AND, Ops.OR) and node.dtype is dtypes.bool:
        for place, value in enumerate(values):
            if value is not None:
                decided = value is (node.op is Ops.OR)
                return UOp.const(value) if decided else sources[1 - place]
    if node.op is Ops.MUL and dtypes.is_int(node.dtype) and 0 in values:
        return UOp.const(0, node.dtype)
    return UOp(node.op, tuple(sources), node.arg, node.tag)
