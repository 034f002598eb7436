"""Comparisons of integers: `S < k` and `k < S` with a canonical sum S on one side."""

from __future__ import annotations

import math

from tg_core.dtype import DType, dtypes
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.linear import (
    Linear,
    added,
    build,
    divided,
    exact_bounds,
    form_bounds,
    int_const,
    keeps_shape,
    linear_of,
    scaled,
)
from tg_core.uop.symbolic.order import precedes
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp

_INT_SET = frozenset(INTS)


def operand_dtype(u: UOp) -> DType:
    """Give the dtype that the operands of a comparison are compared at.

    Args:
        u: a comparison.

    Returns:
        The concrete dtype if one operand has one, else the weak one.
    """
    a, b = u.src[0].dtype, u.src[1].dtype
    return b if dtypes.is_weak(a) else a


def _exact_forms(u: UOp) -> tuple[Linear, Linear, DType] | None:
    """Take both operands apart, if they are integers whose exact values are what is compared."""
    a, b = u.src
    if a.dtype not in _INT_SET or b.dtype not in _INT_SET:
        return None
    dtype = operand_dtype(u)
    form_a, form_b = linear_of(a), linear_of(b)
    if form_a is None or form_b is None:
        return None
    if exact_bounds(form_a, dtype) is None or exact_bounds(form_b, dtype) is None:
        return None
    return form_a, form_b, dtype


@keeps_shape
def simplify_less(u: UOp) -> UOp | None:
    """`a < b` -> a constant, or `S < k` or `k < S` with common terms and factors cancelled.

    `range(n) < n -> True`, which bounds cannot show when n is a variable. Sound for exact integers:
    both sides move by the same amount and divide by the same positive number, rounded so that no
    integer changes sides.
    """
    if u.src[0].op is Ops.RANGE and u.src[0].src[0] is u.src[1]:
        return UOp.const(True)
    found = _exact_forms(u)
    if found is None:
        return None
    form_a, form_b, dtype = found
    difference = added(form_a, form_b, -1)
    low, high = form_bounds(difference)
    if high < 0:
        return UOp.const(True)
    if low >= 0:
        return UOp.const(False)
    if form_a.terms and form_b.terms and not _share_terms(form_a, form_b):
        return _two_sided(u, form_a, form_b, dtype)
    terms, limit = difference.terms, -difference.const
    # sum of terms < limit; a leading minus turns the comparison around
    if all(c < 0 for c in terms.values()):
        positive = Linear({t: -c for t, c in terms.items()}, 0)
        return _write_above(u, positive, -limit, dtype)
    return _write_below(u, Linear(terms, 0), limit, dtype)


def _share_terms(a: Linear, b: Linear) -> bool:
    return not a.terms.keys().isdisjoint(b.terms)


def _two_sided(u: UOp, a: Linear, b: Linear, dtype: DType) -> UOp | None:
    """`x + k < y + m -> x < y + (m - k)`: terms stay on their side, the constant goes right."""
    right = Linear(b.terms, b.const - a.const)
    if exact_bounds(Linear(a.terms, 0), dtype) is None or exact_bounds(right, dtype) is None:
        return None
    left_node = build(Linear(a.terms, 0), u.src[0].dtype)
    result = UOp(Ops.CMPLT, (left_node, build(right, u.src[1].dtype)))
    return None if result is u else result


def _tightened(form: Linear, last: int) -> tuple[Linear, int]:
    """Divide `form <= last` by a factor g: `g*y + s <= last` is `y <= (last - s) // g`.

    That holds if the quotient is the same for every value of s, the terms g does not divide.
    """
    factors = {abs(c) for c in form.terms.values()}
    factors.add(math.gcd(*form.terms.values()))
    for factor in sorted(factors, reverse=True):
        if factor == 1:
            break
        large, small = divided(form, factor)
        low, high = form_bounds(small)
        if (last - low) // factor == (last - high) // factor:
            return large, (last - low) // factor
    return form, last


def _write_below(u: UOp, form: Linear, limit: int, dtype: DType) -> UOp | None:
    """`g*y + s < k -> y < k'` and `x//c < k -> x < k*c` for positive c."""
    form, last = _tightened(form, limit - 1)
    opened = _opened_quotient(form, dtype)
    if opened is not None:
        inner, divisor = opened
        return _below(u, inner, (last + 1) * divisor, dtype)
    return _below(u, form, last + 1, dtype)


def _write_above(u: UOp, form: Linear, limit: int, dtype: DType) -> UOp | None:
    """`k < g*y + s -> k' < y` and `k < x//c -> (k + 1)*c - 1 < x` for positive c."""
    form, last = _tightened(form, limit)
    opened = _opened_quotient(form, dtype)
    if opened is not None:
        inner, divisor = opened
        return _above(u, inner, (last + 1) * divisor - 1, dtype)
    return _above(u, form, last, dtype)


def _opened_quotient(form: Linear, dtype: DType) -> tuple[Linear, int] | None:
    """Find `x//c` as the only term, with x exact at the dtype of the comparison."""
    if len(form.terms) != 1:
        return None
    ((term, coefficient),) = form.terms.items()
    if coefficient != 1 or term.op is not Ops.FLOORDIV:
        return None
    divisor = int_const(term.src[1])
    if divisor is None or divisor <= 0:
        return None
    inner = linear_of(term.src[0])
    if inner is None or exact_bounds(inner, term.dtype) is None:
        return None
    return inner, divisor


def _below(u: UOp, form: Linear, limit: int, dtype: DType) -> UOp | None:
    """Write `form < limit` with the constant on the right, if both sides fit the dtype."""
    sides = _sides(form, limit, dtype, u.src[0])
    if sides is None:
        return None
    result = UOp(Ops.CMPLT, sides)
    return None if result is u else result


def _above(u: UOp, form: Linear, limit: int, dtype: DType) -> UOp | None:
    """Write `limit < form` with the constant on the left, if both sides fit the dtype."""
    sides = _sides(form, limit, dtype, u.src[1])
    if sides is None:
        return None
    result = UOp(Ops.CMPLT, (sides[1], sides[0]))
    return None if result is u else result


def _sides(form: Linear, limit: int, dtype: DType, like: UOp) -> tuple[UOp, UOp] | None:
    limit -= form.const
    terms = Linear(form.terms, 0)
    if exact_bounds(terms, dtype) is None or exact_bounds(Linear({}, limit), dtype) is None:
        return None
    weak = all(t.dtype is dtypes.weakint for t in form.terms)
    left = build(terms, dtypes.weakint if weak else dtype, like=like)
    return left, UOp.const(limit, left.dtype)


@keeps_shape
def simplify_equality(u: UOp) -> UOp | None:
    """`a != b`, `a == b` -> a constant, or the canonical sum against a constant.

    Sound for exact integers. Terms on both sides cancel; a common factor that does not divide the
    constant decides the comparison.
    """
    found = _exact_forms(u)
    if found is None:
        return None
    form_a, form_b, dtype = found
    difference = added(form_a, form_b, -1)
    low, high = form_bounds(difference)
    if low > 0 or high < 0:
        return UOp.const(u.op is Ops.CMPNE)
    if low == high == 0:
        return UOp.const(u.op is Ops.CMPEQ)
    factor = math.gcd(*difference.terms.values())
    if difference.const % factor:
        return UOp.const(u.op is Ops.CMPNE)
    if form_a.terms and form_b.terms and not _share_terms(form_a, form_b):
        return _order_equality(u, form_a, form_b, dtype)
    if factor > 1:
        terms = {t: c // factor for t, c in difference.terms.items()}
        difference = Linear(terms, difference.const // factor)
    if all(c < 0 for c in difference.terms.values()):
        difference = scaled(difference, -1)
    sides = _sides(Linear(difference.terms, 0), -difference.const, dtype, u.src[0])
    if sides is None:
        return None
    result = UOp(u.op, sides)
    return None if result is u else result


def _order_equality(u: UOp, a: Linear, b: Linear, dtype: DType) -> UOp | None:
    """`x + k == y + m -> x == y + (m - k)` with the side that sorts first on the left."""
    left, right = Linear(a.terms, 0), Linear(b.terms, 0)
    first, second = build(left, u.src[0].dtype), build(right, u.src[1].dtype)
    shift = b.const - a.const
    if precedes(second, first):
        first, left, right, shift = second, right, left, -shift
        first_dtype, second_dtype = u.src[1].dtype, u.src[0].dtype
    else:
        first_dtype, second_dtype = u.src[0].dtype, u.src[1].dtype
    moved = Linear(right.terms, shift)
    if exact_bounds(left, dtype) is None or exact_bounds(moved, dtype) is None:
        return None
    result = UOp(u.op, (build(left, first_dtype), build(moved, second_dtype)))
    return None if result is u else result


comparison = PatternMatcher(
    [
        (UPat(Ops.CMPLT, name="u"), simplify_less),
        (UPat((Ops.CMPNE, Ops.CMPEQ), name="u"), simplify_equality),
    ]
)
