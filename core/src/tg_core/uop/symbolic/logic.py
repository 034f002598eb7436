"""Conjunctions and disjunctions: sorted, without duplicates, and with the tightest bounds only."""

from __future__ import annotations

from typing import NamedTuple

from tg_core.dtype import dtypes
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.linear import int_const
from tg_core.uop.symbolic.order import in_order
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp

MAX_OPERANDS = 32
"""Longer chains are left as they are, so that a chain of n operations costs O(n)."""


class Bound(NamedTuple):
    """One side of an interval that a comparison gives an expression."""

    subject: UOp
    """The expression."""
    limit: int
    """Inclusive bound."""
    upper: bool
    """Whether `limit` is the largest value rather than the smallest."""


def operands_of(u: UOp, op: Ops) -> list[UOp] | None:
    """Flatten a tree of one associative operation.

    Args:
        u: the root.
        op: AND or OR.

    Returns:
        The operands in order, or None when there are too many.
    """
    found: list[UOp] = []
    stack = [u]
    while stack:
        node = stack.pop()
        if node.op is op:
            stack.extend(reversed(node.src))
            if len(stack) > MAX_OPERANDS:
                return None
        else:
            found.append(node)
            if len(found) > MAX_OPERANDS:
                return None
    return found


def bound_of(u: UOp) -> Bound | None:
    """Read `S < k` or `k < S` as a bound of S.

    Args:
        u: any bool node.

    Returns:
        The bound, or None for anything but a comparison of an integer with a constant.
    """
    if u.op is not Ops.CMPLT:
        return None
    a, b = u.src
    limit = int_const(b)
    if limit is not None and a.dtype in INT_DTYPES:
        return Bound(a, limit - 1, True)
    limit = int_const(a)
    if limit is not None and b.dtype in INT_DTYPES:
        return Bound(b, limit + 1, False)
    return None


INT_DTYPES = frozenset(INTS)


_OPPOSITE = {Ops.CMPEQ: Ops.CMPNE, Ops.CMPNE: Ops.CMPEQ}


def negation(u: UOp) -> UOp:
    """Write `!u`, equalities turned into their opposite, which holds for NaN as well."""
    if u.op is Ops.CMPNE and u.src[1].op is Ops.CONST and u.src[1].arg is True:
        return u.src[0]
    if u.op in _OPPOSITE:
        return UOp(_OPPOSITE[u.op], u.src)
    return UOp(Ops.CMPNE, (u, UOp.const(True)))


def not_less(u: UOp, a: UOp, b: UOp) -> UOp | None:
    """`!(S < k) -> k - 1 < S`, `!(k < S) -> S < k + 1` for integers and a constant k.

    The constant must not leave its dtype. Floats are left alone because of NaN.
    """
    if a.dtype not in INT_DTYPES or b.dtype not in INT_DTYPES:
        return None
    limit = int_const(b)
    if limit is not None and a.vmin < limit:
        return UOp(Ops.CMPLT, (UOp.const(limit - 1, b.dtype), a))
    limit = int_const(a)
    if limit is not None and b.vmax > limit:
        return UOp(Ops.CMPLT, (b, UOp.const(limit + 1, a.dtype)))
    return None


def normalize_conjunction(u: UOp) -> UOp | None:
    """`a & b & ...` -> sorted, duplicates and implied bounds dropped, contradictions False.

    Of several bounds of one expression the tightest decides, which holds for integers.
    """
    operands = operands_of(u, Ops.AND)
    if operands is None:
        return None
    return _normalized(u, operands, conjunction=True)


def normalize_disjunction(u: UOp) -> UOp | None:
    """`a | b | ...` -> sorted, duplicates and implied bounds dropped, complete covers True.

    Of several bounds of one expression the loosest decides, which holds for integers.
    """
    operands = operands_of(u, Ops.OR)
    if operands is None:
        return None
    return _normalized(u, operands, conjunction=False)


def _normalized(u: UOp, operands: list[UOp], conjunction: bool) -> UOp | None:
    distinct = list(dict.fromkeys(operands))
    present = set(distinct)
    strongest: dict[tuple[UOp, bool], tuple[int, UOp]] = {}
    kept: list[UOp] = []
    for operand in distinct:
        opposite = negation(operand)
        if opposite in present and not u.shape:
            return UOp.const(not conjunction)
        bound = bound_of(operand)
        if bound is None:
            kept.append(operand)
            continue
        side = (bound.subject, bound.upper)
        known = strongest.get(side)
        tighter = known is None or (bound.limit < known[0]) == (bound.upper is conjunction)
        if tighter:
            strongest[side] = (bound.limit, operand)
    for (subject, upper), (limit, operand) in strongest.items():
        if upper:
            other = strongest.get((subject, False))
            if other is not None and not u.shape:
                if conjunction and limit < other[0]:
                    return UOp.const(False)
                if not conjunction and limit + 1 >= other[0]:
                    return UOp.const(True)
        kept.append(operand)
    result: UOp | None = None
    # a constant next to a vector cannot stand for it and stays; on the right, as everywhere
    constants = [operand for operand in kept if operand.op is Ops.CONST]
    others = [operand for operand in kept if operand.op is not Ops.CONST]
    for operand in [*in_order(others), *constants]:
        result = operand if result is None else UOp(u.op, (result, operand))
    return None if result is u or result is None or result.shape != u.shape else result


logic = PatternMatcher(
    [
        (
            UPat(
                Ops.CMPNE,
                (UPat(Ops.CMPLT, (UPat.var("a"), UPat.var("b"))), UPat.const(True)),
                name="u",
            ),
            not_less,
        ),
        (UPat(Ops.AND, name="u", dtype=dtypes.bool), normalize_conjunction),
        (UPat(Ops.OR, name="u", dtype=dtypes.bool), normalize_disjunction),
    ]
)
