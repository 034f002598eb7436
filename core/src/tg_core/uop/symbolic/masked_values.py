"""Counting loops under a mask: what the mask says of the loops around them lets them close.

A counter that is padded (joined with another, say) is read at positions outside of its own range,
where the mask is false. There a position needs a modulo that it does not need inside.
"""

from __future__ import annotations

from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.logic import operands_of
from tg_core.uop.symbolic.valid import known_intervals, simplify_under
from tg_core.uop.uop import UOp

_NEAR = 64
"""How many nodes are looked at for a counting loop; more would make long chains of masks slow."""


def _counts(value: UOp) -> bool:
    """Tell whether near the value there is a reduction that reads no storage, with a modulo."""
    stack, seen = [value], {value}
    reduces = modulo = False
    while stack and len(seen) <= _NEAR:
        node = stack.pop()
        if node.op is Ops.LOAD:
            return False
        reduces |= node.op is Ops.REDUCE
        modulo |= node.op in (Ops.FLOORMOD, Ops.FLOORDIV)
        for source in node.src:
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return reduces and modulo and not stack


def simplify_masked_count(mask: UOp, value: UOp, other: UOp) -> UOp | None:
    """`where(mask, v, c) -> where(mask, v', c)` with v simplified where the mask holds.

    Sound because v is not used where the mask is false; v reads no storage, so computing it there
    has no effect.
    """
    if other.op is Ops.WHERE or not _counts(value):
        return None
    conditions = operands_of(mask, Ops.AND)
    if conditions is None:
        return None
    narrowed = simplify_under(value, known_intervals(conditions))
    return None if narrowed is value else UOp(Ops.WHERE, (mask, narrowed, other))


masked_values = PatternMatcher(
    [
        (
            UPat(Ops.WHERE, (UPat.var("mask"), UPat.var("value"), UPat.var("other"))),
            simplify_masked_count,
        )
    ]
)
