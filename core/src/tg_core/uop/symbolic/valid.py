"""Indices under a mask: what the mask says narrows the index, and implied conditions go.

Where the mask is false the index is never used, so the index may be replaced by any expression
that agrees with it where the mask is true.
"""

from __future__ import annotations

from tg_core.dtype import Invalid, dtypes
from tg_core.uop.bounds_common import dtype_bounds
from tg_core.uop.graph import toposort, with_sources
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.linear import int_const, linear_of
from tg_core.uop.symbolic.logic import bound_of, operands_of
from tg_core.uop.symbolic.simplify import simplify
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp

_INT_SET = frozenset(INTS)
_DECIDABLE = frozenset(
    (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD, Ops.MAX, Ops.WHERE, Ops.CMPLT, Ops.CMPNE,
     Ops.CMPEQ, Ops.AND, Ops.OR)
)  # fmt: skip
"""Operations that narrower bounds can simplify."""

Intervals = dict[UOp, tuple[int, int]]


def known_intervals(conditions: list[UOp]) -> Intervals:
    """Collect what conditions, all of them true, say about integer expressions.

    Args:
        conditions: bool nodes; those that are no bound of an expression are passed over.

    Returns:
        Inclusive bounds of each expression, within its own bounds. Contradictions are left out.
    """
    found: Intervals = {}
    for condition in conditions:
        bound = bound_of(condition)
        if bound is not None:
            subject = bound.subject
            low, high = found.get(subject) or (int(subject.vmin), int(subject.vmax))
            found[subject] = (
                (low, min(high, bound.limit)) if bound.upper else (max(low, bound.limit), high)
            )
        elif condition.op is Ops.CMPEQ:
            subject = condition.src[0]
            value = int_const(condition.src[1])
            if value is not None and subject.dtype in _INT_SET:
                found[subject] = (value, value)
    return {s: (low, high) for s, (low, high) in found.items() if low <= high}


def simplify_under(u: UOp, intervals: Intervals) -> UOp:
    """Simplify an expression where each key of `intervals` lies within its interval.

    What a LOAD reads stays as it is: it is read whether the intervals hold or not, so its own mask
    must not be taken as implied by theirs.

    Args:
        u: the expression.
        intervals: expression to inclusive bounds.

    Returns:
        The simpler of `u` and what the intervals make of it; equal to u wherever they hold.
    """
    result = u
    size = -1
    for number, (subject, (low, high)) in enumerate(intervals.items()):
        replacement = _replacement(result, subject, number, low, high)
        if replacement is None:
            continue
        target, value, proxy = replacement
        narrowed = simplify(_substitute_outside_loads(result, target, value))
        if proxy is not None:
            narrowed = simplify(narrowed.substitute({proxy: subject}))
        if narrowed is result:
            continue
        if size < 0:
            size = len(result.toposort())
        narrowed_size = len(narrowed.toposort())
        if narrowed_size < size:
            result, size = narrowed, narrowed_size
    return result


def _is_no_load(u: UOp) -> bool:
    return u.op is not Ops.LOAD


def _substitute_outside_loads(u: UOp, target: UOp, value: UOp) -> UOp:
    done: dict[UOp, UOp] = {}
    for node in toposort((u,), _is_no_load):
        if node is target:
            done[node] = value
        elif node.op is Ops.LOAD:
            done[node] = node
        else:
            done[node] = with_sources(node, done)
    return done[u]


def _replacement(
    u: UOp, subject: UOp, number: int, low: int, high: int
) -> tuple[UOp, UOp, UOp | None] | None:
    """Choose a node of `u` to replace so that the interval of `subject` becomes visible.

    Returns:
        The node, its replacement, and the variable that stands for `subject`; None where `u` does
        not contain the subject, or, for a sum, no term of it with coefficient 1 or -1.
    """
    nodes = set(toposort((u,), _is_no_load))
    proxy: UOp | None = None
    if low == high:
        value = UOp.const(low, subject.dtype)
    else:
        least, greatest = dtype_bounds(subject.dtype)
        name = f"bounded{number}"
        bounds = (max(low, int(least)), min(high, int(greatest)))
        proxy = value = UOp.variable(name, *bounds, subject.dtype)
    if subject in nodes:
        return subject, value, proxy
    if subject.dtype is not dtypes.weakint:
        return None
    form = linear_of(subject)
    if form is None:
        return None
    for term, coefficient in form.terms.items():
        if abs(coefficient) != 1 or term not in nodes:
            continue
        others = UOp(Ops.SUB, (subject, UOp(Ops.MUL, (term, UOp.const(coefficient)))))
        rest = UOp(Ops.SUB, (value, simplify(others)))
        return term, UOp(Ops.MUL, (rest, UOp.const(coefficient))), proxy
    return None


def drop_implied(conditions: list[UOp]) -> list[UOp]:
    """Leave out conditions that the others imply.

    Args:
        conditions: bool nodes, all of which must hold.

    Returns:
        The conditions that are left, some simplified under the others.
    """
    kept = list(conditions)
    position = 0
    while position < len(kept):
        others = kept[:position] + kept[position + 1 :]
        intervals = known_intervals(others)
        relevant = {s: b for s, b in intervals.items() if _shares_leaves(s, kept[position])}
        narrowed = simplify_under(kept[position], relevant) if relevant else kept[position]
        if narrowed.op is Ops.CONST and narrowed.arg is True:
            kept.pop(position)
            continue
        kept[position] = narrowed
        position += 1
    return kept


def _shares_leaves(a: UOp, b: UOp) -> bool:
    leaves = (Ops.RANGE, Ops.SPECIAL, Ops.PARAM, Ops.LOAD)
    of_a = {n for n in a.toposort() if n.op in leaves}
    return any(n in of_a for n in b.toposort())


def simplify_masked_index(u: UOp, valid: UOp, index: UOp, invalid: UOp) -> UOp | None:
    """`where(valid, index, Invalid)` -> the index simplified where valid holds, and a shorter mask.

    Sound because nothing reads the index where the mask is false; a condition is dropped only when
    the others imply it.
    """
    conditions = operands_of(valid, Ops.AND)
    if conditions is None or index.dtype not in _INT_SET:
        return None
    kept = drop_implied(conditions) if len(conditions) > 1 else conditions
    intervals = known_intervals(kept)
    decidable = any(n.op in _DECIDABLE for n in index.toposort())
    if decidable or any(low == high for low, high in intervals.values()):
        index_now = simplify_under(index, intervals)
    else:
        index_now = index
    if not kept:
        return index_now
    if kept == conditions and index_now is index:
        return None
    mask = kept[0]
    for condition in kept[1:]:
        mask = UOp(Ops.AND, (mask, condition))
    return UOp(Ops.WHERE, (mask, index_now, invalid))


def load_of_nothing(u: UOp) -> UOp | None:
    """`load(x[Invalid]) -> 0`: what a masked load reads where its mask is false."""
    return None if u.shape else UOp.const(0, u.dtype)


def store_of_nothing() -> UOp:
    """`store(x[Invalid], v) ->` nothing, as it writes nowhere."""
    return UOp(Ops.NOOP)


_nowhere = UPat(Ops.INDEX, (UPat(), UPat(Ops.CONST, arg=Invalid)))

valid_indices = PatternMatcher(
    [
        (UPat(Ops.LOAD, (_nowhere,), name="u"), load_of_nothing),
        (UPat(Ops.STORE, (_nowhere,), allow_any_len=True), store_of_nothing),
        (
            UPat(
                Ops.WHERE,
                (
                    UPat.var("valid"),
                    UPat.var("index"),
                    UPat(Ops.CONST, arg=Invalid, name="invalid"),
                ),
                name="u",
            ),
            simplify_masked_index,
        ),
    ]
)
