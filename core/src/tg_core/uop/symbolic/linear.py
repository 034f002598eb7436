"""Integer expressions as linear forms: a constant plus terms times integer coefficients.

A form is exact for weakint. For a concrete width it is exact modulo 2^width, and exact as a number
where `exact_bounds` says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from tg_core.dtype import DType, dtypes, truncate
from tg_core.uop.bounds_common import dtype_bounds
from tg_core.uop.opcodes import Ops
from tg_core.uop.symbolic.order import in_order
from tg_core.uop.uop import UOp

MAX_TERMS = 32
"""Longer sums are only simplified locally, so that a chain of n additions costs O(n)."""


class Linear(NamedTuple):
    """A linear form; never changed after it was built."""

    terms: dict[UOp, int]
    """Coefficient of each term; none is zero."""
    const: int
    """The constant part."""


_SUMS = frozenset((Ops.ADD, Ops.SUB, Ops.MUL))
_NO_TERMS: dict[UOp, int] = {}
_TOO_LONG = Linear(_NO_TERMS, -1)


def keeps_shape(rule: Callable[[UOp], UOp | None]) -> Callable[[UOp], UOp | None]:
    """Let a rule decline where its result would lose lanes: `v - v` of a vector is no scalar 0."""

    @functools.wraps(rule)
    def checked(u: UOp) -> UOp | None:
        result = rule(u)
        if result is None or not u.shape or result.shape == u.shape:
            return result
        return None

    return checked


def int_const(u: UOp) -> int | None:
    """Give the value of an integer constant.

    Args:
        u: any node.

    Returns:
        The value as the dtype stores it, or None when the node is no integer constant.
    """
    if u.op is Ops.CONST:
        return u.arg if type(u.arg) is int else None
    if u.op is Ops.CAST and u.src[0].op is Ops.CONST and dtypes.is_int(u.arg):
        value = u.src[0].arg
        return int(truncate(value, u.arg)) if type(value) is int else None
    return None


def _combine(u: UOp) -> Linear:
    """Compute the form of an ADD, SUB or MUL from the cached forms of its sources."""
    a, b = u.src
    dtype = u.dtype
    if u.op is Ops.MUL:
        factor, other = int_const(b), a
        if factor is None:
            factor, other = int_const(a), b
        if factor is None:
            return Linear({u: 1}, 0)
        form = _cached(other, dtype)
        if form is _TOO_LONG:
            return Linear({u: 1}, 0)
        # at a concrete width, n additions and one product stay cheaper than n products
        if len(form.terms) > 1 and dtype is not dtypes.weakint:
            return Linear({u: 1}, 0)
        return scaled(form, factor)
    form_a, form_b = _cached(a, dtype), _cached(b, dtype)
    if form_a is _TOO_LONG or form_b is _TOO_LONG:
        return _TOO_LONG
    result = added(form_a, form_b, -1 if u.op is Ops.SUB else 1)
    return _TOO_LONG if len(result.terms) > MAX_TERMS else result


def _cached(u: UOp, dtype: DType) -> Linear:
    """Give the form of a source; sums of another width are terms of their own."""
    if u.op in _SUMS and (u.dtype is dtype or u.dtype is dtypes.weakint):
        found: Linear | None = u.__dict__["_linear"]
        return Linear({u: 1}, 0) if found is None else found
    value = int_const(u)
    return Linear({u: 1}, 0) if value is None else Linear(_NO_TERMS, value)


def linear_of(u: UOp) -> Linear | None:
    """Write an integer node as a linear form.

    Args:
        u: a node of integer dtype.

    Returns:
        The form, or None when it has more than `MAX_TERMS` terms.
    """
    if u.op not in _SUMS:
        value = int_const(u)
        return Linear({u: 1}, 0) if value is None else Linear(_NO_TERMS, value)
    if "_linear" not in u.__dict__:
        stack = [u]
        while stack:
            node = stack[-1]
            known = node.__dict__
            if "_linear" in known:
                stack.pop()
                continue
            pending = [s for s in node.src if s.op in _SUMS and "_linear" not in s.__dict__]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            form = _combine(node)
            # a node that is its own term is left out: it would keep itself alive
            known["_linear"] = None if node in form.terms else form
    found: Linear | None = u.__dict__["_linear"]
    if found is None:
        return Linear({u: 1}, 0)
    return None if found is _TOO_LONG else found


def scaled(form: Linear, factor: int) -> Linear:
    """Multiply a form by an integer."""
    if factor == 1:
        return form
    if factor == 0:
        return Linear(_NO_TERMS, 0)
    return Linear({t: c * factor for t, c in form.terms.items()}, form.const * factor)


def added(a: Linear, b: Linear, factor: int = 1) -> Linear:
    """Give `a + factor * b`."""
    terms = dict(a.terms)
    for term, coefficient in b.terms.items():
        total = terms.get(term, 0) + coefficient * factor
        if total:
            terms[term] = total
        else:
            terms.pop(term, None)
    return Linear(terms, a.const + b.const * factor)


def divided(form: Linear, factor: int) -> tuple[Linear, Linear]:
    """Write a form as `factor * quotient + rest`.

    Args:
        form: the form.
        factor: not zero.

    Returns:
        The quotient: the terms whose coefficients divide, and the constant divided rounding down;
        and the rest: the other terms, and the remainder of the constant.
    """
    quotient: dict[UOp, int] = {}
    rest: dict[UOp, int] = {}
    for term, coefficient in form.terms.items():
        if coefficient % factor:
            rest[term] = coefficient
        else:
            quotient[term] = coefficient // factor
    whole, part = divmod(form.const, factor)
    return Linear(quotient, whole), Linear(rest, part)


def form_bounds(form: Linear) -> tuple[int, int]:
    """Bound the exact value of a form."""
    low = high = form.const
    for term, coefficient in form.terms.items():
        term_low, term_high = term.bounds
        if coefficient > 0:
            low += coefficient * int(term_low)
            high += coefficient * int(term_high)
        else:
            low += coefficient * int(term_high)
            high += coefficient * int(term_low)
    return low, high


def exact_bounds(form: Linear, dtype: DType) -> tuple[int, int] | None:
    """Bound a form, if its exact value is what a node of the dtype holds.

    Args:
        form: the form.
        dtype: the dtype of the node it was taken from.

    Returns:
        The bounds, or None when the value may wrap.
    """
    low, high = form_bounds(form)
    if dtype is dtypes.weakint:
        return low, high
    least, greatest = dtype_bounds(dtype)
    return (low, high) if least <= low and high <= greatest else None


def _signed(value: int, dtype: DType) -> int:
    """Bring a coefficient to the representative of least magnitude modulo 2^width."""
    if dtype is dtypes.weakint:
        return value
    half = 1 << (dtype.bits - 1)
    wrapped = (value + half) % (half * 2) - half
    return half if wrapped == -half and dtypes.is_unsigned(dtype) else wrapped


CANONICAL = "_canonical_sum"
"""Entry of a node's dictionary: a sum or product that `normalize_sum` would leave as it is."""


def build(form: Linear, dtype: DType, canonical: bool = False, like: UOp | None = None) -> UOp:
    """Write a form as a node: terms in canonical order, the constant last.

    Args:
        form: the form.
        dtype: the dtype of the result.
        canonical: whether nothing in the form can be combined further, so that the nodes made here
            need not be looked at again.
        like: a node that may well be the result, to save building it again.

    Returns:
        The canonical node; equal forms give the same node.
    """
    if dtype is dtypes.weakint:
        return _build_weak(form, canonical, like)
    unsigned = dtypes.is_unsigned(dtype)
    result: UOp | None = None
    postponed: list[UOp] = []
    terms = form.terms
    for term in in_order(list(terms)) if len(terms) > 1 else terms:
        coefficient = _signed(terms[term], dtype)
        if coefficient == 0:
            continue
        if coefficient < 0 and unsigned:
            postponed.append(_product(term, -coefficient))
            continue
        product = _product(term, coefficient)
        if canonical and coefficient != 1:
            product.__dict__[CANONICAL] = True
        if result is None:
            result = product
        else:
            result = UOp(Ops.ADD, (result, product))
            if canonical:
                result.__dict__[CANONICAL] = True
    const = _signed(form.const, dtype)
    if result is None and postponed:
        # an unsigned value without a positive term: the constant, perhaps 0, minus the terms
        result = UOp.const(truncate(const, dtype), dtype)
        const = 0
    for product in postponed:
        assert result is not None
        result = UOp(Ops.SUB, (result, product))
    if result is None:
        return UOp.const(truncate(const, dtype), dtype)
    if const and not (const < 0 and unsigned):
        result = UOp(Ops.ADD, (result, UOp.const(const, result.dtype)))
        if canonical:
            result.__dict__[CANONICAL] = True
    elif const:
        result = UOp(Ops.SUB, (result, UOp.const(-const, result.dtype)))
    return result if result.dtype is dtype else UOp(Ops.CAST, (result,), dtype)


def _build_weak(form: Linear, canonical: bool, like: UOp | None) -> UOp:
    """Build a form without a width: no wrapping, no casts, and by far the most frequent case."""
    terms, const = form
    ordered = in_order(list(terms)) if len(terms) > 1 else list(terms)
    if not ordered:
        return UOp(Ops.CONST, (), const)
    if like is not None and _is_written(like, ordered, terms, const):
        return like
    result: UOp | None = None
    for term in ordered:
        coefficient = terms[term]
        product = term
        if coefficient != 1:
            product = UOp(Ops.MUL, (term, UOp(Ops.CONST, (), coefficient)))
            if canonical:
                product.__dict__[CANONICAL] = True
        if result is None:
            result = product
        else:
            result = UOp(Ops.ADD, (result, product))
            if canonical:
                result.__dict__[CANONICAL] = True
    assert result is not None
    if const:
        result = UOp(Ops.ADD, (result, UOp(Ops.CONST, (), const)))
        if canonical:
            result.__dict__[CANONICAL] = True
    # a term of another dtype decides the dtype of a sum of one
    return result if result.dtype is dtypes.weakint else UOp(Ops.CAST, (result,), dtypes.weakint)


def _is_written(u: UOp, ordered: list[UOp], terms: dict[UOp, int], const: int) -> bool:
    """Whether a node is the canonical sum of these terms and the constant."""
    if const:
        if u.op is not Ops.ADD or u.src[1].op is not Ops.CONST or u.src[1].arg != const:
            return False
        u = u.src[0]
    for term in reversed(ordered):
        product = u
        if term is not ordered[0]:
            if u.op is not Ops.ADD:
                return False
            u, product = u.src
        coefficient = terms[term]
        if coefficient == 1:
            if product is not term:
                return False
            continue
        if product.op is not Ops.MUL or product.src[0] is not term:
            return False
        factor = product.src[1]
        if factor.op is not Ops.CONST or factor.arg != coefficient:
            return False
    return True


def _product(term: UOp, coefficient: int) -> UOp:
    if coefficient == 1:
        return term
    return UOp(Ops.MUL, (term, UOp.const(coefficient, term.dtype)))
