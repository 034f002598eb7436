"""Sums over kernel ranges in closed form: loops that count, and loops that look for one element."""

from __future__ import annotations

from typing import NamedTuple

from tg_core.dtype import Invalid, dtypes
from tg_core.uop.graph import toposort
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.linear import Linear, added, build, exact_bounds, linear_of
from tg_core.uop.symbolic.logic import operands_of
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp

_INT_SET = frozenset(INTS)


class Solved(NamedTuple):
    """A linear expression of a loop variable taken apart: `factor * range + rest`."""

    factor: int
    """Coefficient of the loop variable, not zero."""
    rest: UOp
    """What does not depend on it, weakint."""


def _depends(u: UOp, r: UOp) -> bool:
    return r in u.ranges


def _is_range_term(term: UOp, r: UOp) -> bool:
    """Whether a term is the loop variable, perhaps cast to a width that holds it."""
    if term is r:
        return True
    if term.op is not Ops.CAST or term.src[0] is not r or term.dtype not in _INT_SET:
        return False
    return term.dtype is dtypes.weakint or (
        dtypes.min(term.dtype) <= 0 and r.vmax <= dtypes.max(term.dtype)
    )


def _solve(form: Linear, r: UOp) -> Solved | None:
    """Take `factor * r + rest` out of a form that is exact as a number."""
    factor = 0
    rest: dict[UOp, int] = {}
    for term, coefficient in form.terms.items():
        if _is_range_term(term, r):
            factor += coefficient
        elif _depends(term, r):
            return None
        else:
            rest[_as_weak(term)] = coefficient
    return Solved(factor, build(Linear(rest, form.const), dtypes.weakint)) if factor else None


def _exact_difference(a: UOp, b: UOp) -> Linear | None:
    """Write `a - b` as a form whose value is exact, for integers that are compared."""
    if a.dtype not in _INT_SET or b.dtype not in _INT_SET:
        return None
    form_a, form_b = linear_of(a), linear_of(b)
    if form_a is None or form_b is None:
        return None
    if exact_bounds(form_a, a.dtype) is None or exact_bounds(form_b, b.dtype) is None:
        return None
    # a weak operand is compared at the width of the other one
    if a.dtype is not b.dtype:
        concrete = b.dtype if dtypes.is_weak(a.dtype) else a.dtype
        if exact_bounds(form_a, concrete) is None or exact_bounds(form_b, concrete) is None:
            return None
    return added(form_a, form_b, -1)


def _at_most_zero(condition: UOp) -> Linear | None:
    """Write `a < b` or `!(a < b)` as `form <= 0`."""
    negated = condition.op is Ops.CMPNE and condition.src[1].arg is True
    less = condition.src[0] if negated else condition
    if less.op is not Ops.CMPLT:
        return None
    a, b = reversed(less.src) if negated else less.src
    form = _exact_difference(a, b)
    return None if form is None else Linear(form.terms, form.const + (0 if negated else 1))


def _as_weak(u: UOp) -> UOp:
    return u if u.dtype is dtypes.weakint else UOp(Ops.CAST, (u,), dtypes.weakint)


def _minimum(a: UOp, b: UOp) -> UOp:
    minus = UOp.const(-1)
    larger = UOp(Ops.MAX, (UOp(Ops.MUL, (a, minus)), UOp(Ops.MUL, (b, minus))))
    return UOp(Ops.MUL, (larger, minus))


def _all_of(conditions: list[UOp]) -> UOp:
    result = conditions[0]
    for condition in conditions[1:]:
        result = UOp(Ops.AND, (result, condition))
    return result


def _rebuilt(u: UOp, value: UOp, ranges: list[UOp]) -> UOp:
    """Reduce `value` over what is left of the ranges."""
    result = UOp(Ops.REDUCE, (value, *ranges), u.arg) if ranges else value
    return result if result.dtype is u.dtype else UOp(Ops.CAST, (result,), u.dtype)


def reduce_of_independent(u: UOp) -> UOp | None:
    """`sum(v for r) -> v * n`, `max(v for r) -> v` where v does not depend on r and r runs.

    A float sum of equal values becomes the product, rounded once instead of n times.
    """
    value, ranges = u.src[0], list(u.src[1:])
    if u.arg not in (Ops.ADD, Ops.MAX) or (u.dtype is dtypes.bool and u.arg is Ops.ADD):
        return None
    for r in ranges:
        if r.op is not Ops.RANGE or _depends(value, r):
            continue
        size = r.src[0]
        # an empty sum is 0, which a float product with 0 would not always be
        if size.vmin < 1 and (u.arg is Ops.MAX or dtypes.is_float(u.dtype)):
            continue
        ranges.remove(r)
        if u.arg is Ops.MAX:
            return _rebuilt(u, value, ranges)
        count = size if size.dtype is u.dtype else UOp(Ops.CAST, (size,), u.dtype)
        return _rebuilt(u, UOp(Ops.MUL, (value, count)), ranges)
    return None


class Masked(NamedTuple):
    """A summand that is zero unless conditions hold."""

    conditions: list[UOp]
    """All of them must hold."""
    value: UOp
    """The summand where they do."""


def _masked(value: UOp) -> Masked | None:
    """Read `where(c, v, 0)`, `where(c, 0, v)` or a cast bool as a masked summand."""
    if value.op is Ops.CAST and value.src[0].dtype is dtypes.bool:
        conditions = operands_of(value.src[0], Ops.AND)
        return None if conditions is None else Masked(conditions, UOp.const(1, value.dtype))
    if value.op is not Ops.WHERE:
        return None
    condition, a, b = value.src
    if _is_zero(b):
        conditions = operands_of(condition, Ops.AND)
        return None if conditions is None else Masked(conditions, a)
    if _is_zero(a):
        return Masked([_negated(condition)], b)
    return None


def _masked_sum(u: UOp) -> Masked | None:
    """Read a REDUCE as the sum of a masked summand."""
    return _masked(u.src[0]) if u.arg is Ops.ADD and u.dtype is not dtypes.bool else None


def _is_zero(u: UOp) -> bool:
    value = u.const_value
    return value is not None and value is not Invalid and value == 0


def _negated(condition: UOp) -> UOp:
    if condition.op is Ops.CMPNE:
        return UOp(Ops.CMPEQ, condition.src)
    return UOp(Ops.CMPNE, (condition, UOp.const(True)))


def count_masked(u: UOp) -> UOp | None:
    """`sum(where(lo <= r < hi, v, 0) for r) -> v * (how many r are in both intervals)`.

    The conditions on r must be bounds of `a*r + t` with t and v independent of r; other conditions
    stay as a mask. Integers decide the count exactly; for floats the product is masked where the
    count is 0, so that an infinite v does not make a NaN.
    """
    masked = _masked_sum(u)
    if masked is None:
        return None
    for r in u.src[1:]:
        if r.op is Ops.RANGE and not _depends(masked.value, r):
            closed = _count_over(u, masked, r)
            if closed is not None:
                return closed
    return None


def _count_over(u: UOp, masked: Masked, r: UOp) -> UOp | None:
    first: UOp = UOp.const(0)
    last: UOp = UOp(Ops.ADD, (_as_weak(r.src[0]), UOp.const(-1)))
    outside: list[UOp] = []
    for condition in masked.conditions:
        if not _depends(condition, r):
            outside.append(condition)
            continue
        form = _at_most_zero(condition)
        solved = None if form is None else _solve(form, r)
        if solved is None:
            return None
        # factor * r + rest <= 0, where dividing by a negative factor turns the bound around
        room = UOp(Ops.MUL, (solved.rest, UOp.const(-1)))
        quotient = UOp(Ops.FLOORDIV, (room, UOp.const(abs(solved.factor))))
        if solved.factor > 0:
            last = _minimum(last, quotient)
        else:
            first = UOp(Ops.MAX, (first, UOp(Ops.MUL, (quotient, UOp.const(-1)))))
    span = UOp(Ops.ADD, (UOp(Ops.SUB, (last, first)), UOp.const(1)))
    count = UOp(Ops.MAX, (span, UOp.const(0)))
    value = (
        masked.value if masked.value.dtype is u.dtype else UOp(Ops.CAST, (masked.value,), u.dtype)
    )
    total = UOp(Ops.MUL, (value, UOp(Ops.CAST, (count,), u.dtype)))
    if dtypes.is_float(u.dtype):
        outside.append(UOp(Ops.CMPLT, (UOp.const(0), span)))
    if outside:
        total = UOp(Ops.WHERE, (_all_of(outside), total, UOp.const(0, u.dtype)))
    return _rebuilt(u, total, [x for x in u.src[1:] if x is not r])


def gather_masked(u: UOp) -> UOp | None:
    """`sum(where(r == i & c, x(r), 0) for r) -> where(0 <= i < n & c(i), x(i), 0)`.

    Likewise `a*r == i`, where a must divide i. At most one summand is not zero. `i` must not depend
    on r; loads in x(i) are masked where i is out of range, so that nothing is read there.
    """
    masked = _masked_sum(u)
    if masked is None:
        return None
    for r in u.src[1:]:
        if r.op is not Ops.RANGE:
            continue
        for condition in masked.conditions:
            solution = _solved_equality(condition, r)
            if solution is not None:
                position, exists = solution
                others = [c for c in masked.conditions if c is not condition]
                return _gathered(u, masked.value, [*exists, *others], r, position)
    return None


def _solved_equality(condition: UOp, r: UOp) -> tuple[UOp, list[UOp]] | None:
    """Solve `a*r + t == s` for r, with t and s independent of it.

    Returns:
        The only r that can solve it, and the conditions under which it does: `s - t` must divide.
    """
    if condition.op is not Ops.CMPEQ or not _depends(condition, r):
        return None
    form = _exact_difference(*condition.src)
    solved = None if form is None else _solve(form, r)
    if solved is None:
        return None
    sign = UOp.const(-1 if solved.factor > 0 else 1)
    distance, step = UOp(Ops.MUL, (solved.rest, sign)), UOp.const(abs(solved.factor))
    if abs(solved.factor) == 1:
        return distance, []
    divides = UOp(Ops.CMPEQ, (UOp(Ops.FLOORMOD, (distance, step)), UOp.const(0)))
    return UOp(Ops.FLOORDIV, (distance, step)), [divides]


def _gathered(u: UOp, value: UOp, others: list[UOp], r: UOp, position: UOp) -> UOp:
    size = _as_weak(r.src[0])
    inside = UOp(
        Ops.AND,
        (
            UOp(Ops.CMPLT, (UOp.const(-1), position)),
            UOp(Ops.CMPLT, (position, size)),
        ),
    )
    chosen = position if r.dtype is dtypes.weakint else UOp(Ops.CAST, (position,), r.dtype)
    mapping: dict[UOp, UOp] = {r: chosen}
    # sources first, so that an index that depends on another load's index sees the masked one
    for node in toposort((value, *others)):
        if node.op is Ops.INDEX and r in node.ranges:
            base, index = (s.substitute(mapping) for s in node.src)
            masked = UOp(Ops.WHERE, (inside, index, UOp.const(Invalid)))
            mapping[node] = UOp(Ops.INDEX, (base, masked), node.arg)
    conditions = [inside, *(c.substitute(mapping) for c in others)]
    result = UOp(Ops.WHERE, (_all_of(conditions), value.substitute(mapping), UOp.const(0, u.dtype)))
    return _rebuilt(u, result, [x for x in u.src[1:] if x is not r])


def split_nonzero_else(u: UOp) -> UOp | None:
    """`sum(where(c, v, k)) -> sum(where(c, v - k, 0)) + sum(k)` for integers and constants v, k."""
    if u.arg is not Ops.ADD or u.dtype not in _INT_SET:
        return None
    value = u.src[0]
    if value.op is not Ops.WHERE:
        return None
    condition, v, k = value.src
    if v.const_value is None or k.const_value in (None, Invalid) or _is_zero(k) or _is_zero(v):
        return None
    zero = UOp.const(0, value.dtype)
    step = UOp(Ops.WHERE, (condition, UOp(Ops.SUB, (v, k)), zero))
    ranges = u.src[1:]
    masked = UOp(Ops.REDUCE, (step, *ranges), Ops.ADD)
    if count_masked(masked) is None:
        return None
    return UOp(Ops.ADD, (masked, UOp(Ops.REDUCE, (k, *ranges), Ops.ADD)))


reductions = PatternMatcher(
    [
        (UPat(Ops.REDUCE, name="u"), reduce_of_independent),
        (UPat(Ops.REDUCE, name="u"), count_masked),
        (UPat(Ops.REDUCE, name="u"), gather_masked),
        (UPat(Ops.REDUCE, name="u"), split_nonzero_else),
    ]
)
