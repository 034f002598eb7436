"""Canonical sums and products of integers."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.uop.bounds_common import dtype_bounds
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.linear import (
    CANONICAL,
    MAX_TERMS,
    Linear,
    added,
    build,
    int_const,
    keeps_shape,
    linear_of,
    scaled,
)
from tg_core.uop.symbolic.order import in_order
from tg_core.uop.uop import UOp

INTS = (*dtypes.ints, dtypes.weakint)
"""Every integer dtype."""

_DIVISIONS = frozenset((Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD))
_QUOTIENT_OF = {Ops.FLOORMOD: Ops.FLOORDIV, Ops.CMOD: Ops.CDIV}


@keeps_shape
def normalize_sum(u: UOp) -> UOp | None:
    """`a + b`, `a - b` -> the sorted sum of terms with integer coefficients.

    Like terms are combined, and a quotient and a remainder of the same division are put together.
    Sound at any width: addition and multiplication by constants are exact modulo 2^width.
    """
    if CANONICAL in u.__dict__:
        return None
    form = linear_of(u)
    if form is None:
        return _move_constant_out(u)
    for term in form.terms:
        if term.op in _DIVISIONS:
            form = _join_divisions(form)
            break
    result = build(form, u.dtype, True, u)
    if result is u:
        u.__dict__[CANONICAL] = True
        return None
    return result


def _move_constant_out(u: UOp) -> UOp | None:
    """`(x + c) + y -> (x + y) + c`, `(x + c1) + c2 -> x + (c1 + c2)` in sums past the term limit.

    Sound at any width, as every reassociation of an addition modulo 2^width.
    """
    if u.op is not Ops.ADD:
        return None
    a, b = u.src
    if int_const(a) is not None:
        return UOp(Ops.ADD, (b, a))
    if a.op is not Ops.ADD or a.dtype is not u.dtype:
        return None
    inner = int_const(a.src[1])
    if inner is None:
        return None
    outer = int_const(b)
    if outer is not None:
        return UOp(Ops.ADD, (a.src[0], UOp.const(inner + outer, u.dtype)))
    return UOp(Ops.ADD, (UOp(Ops.ADD, (a.src[0], b)), a.src[1]))


def _join_divisions(form: Linear) -> Linear:
    """Apply the recombination rules until none fits; every step removes a division."""
    while True:
        joined = _join_one(form)
        if joined is None:
            return form
        form = joined


def _join_one(form: Linear) -> Linear | None:
    for term, coefficient in form.terms.items():
        if term.op not in _DIVISIONS:
            continue
        divisor = int_const(term.src[1])
        if divisor is None or divisor == 0:
            continue
        if term.op in _QUOTIENT_OF:
            joined = _join_remainder(form, term, coefficient, divisor)
        elif term.op is Ops.FLOORDIV:
            joined = _join_negated_quotient(form, term, coefficient, divisor)
        else:
            joined = None
        if joined is not None:
            return joined
    return None


def _join_remainder(form: Linear, term: UOp, coefficient: int, divisor: int) -> Linear | None:
    """`x//c*c*k + x%c*k -> x*k`, `(x//c%d)*c*k + x%c*k -> x%(c*d)*k`.

    The first holds in either division, by its definition; `x//c` may itself be a merged
    `y//(b*c)` where `x` is `y//b`. The second needs floor division and positive divisors.
    """
    x = term.src[0]
    quotient_op = _QUOTIENT_OF[term.op]
    inner_divisor = int_const(x.src[1]) if x.op is quotient_op else None
    for other, other_coefficient in form.terms.items():
        if other_coefficient != coefficient * divisor:
            continue
        if other.op is quotient_op:
            other_divisor = int_const(other.src[1])
            same = other.src[0] is x and other_divisor == divisor
            # a floor of a floor is one floor only for a positive outer divisor
            merged = (
                inner_divisor is not None
                and other.src[0] is x.src[0]
                and other_divisor == inner_divisor * divisor
                and (divisor > 0 or quotient_op is Ops.CDIV)
            )
            if same or merged:
                return _replaced(form, (term, other), x, coefficient)
        elif other.op is Ops.FLOORMOD and term.op is Ops.FLOORMOD and divisor > 0:
            quotient = other.src[0]
            outer = int_const(other.src[1])
            if (
                outer is not None
                and outer > 0
                and quotient.op is Ops.FLOORDIV
                and quotient.src[0] is x
                and int_const(quotient.src[1]) == divisor
                and divisor * outer <= dtype_bounds(term.dtype)[1]
            ):
                modulus = UOp.const(divisor * outer, term.src[1].dtype)
                whole = UOp(Ops.FLOORMOD, (x, modulus))
                return _replaced(form, (term, other), whole, coefficient)
    return None


def _join_negated_quotient(
    form: Linear, term: UOp, coefficient: int, divisor: int
) -> Linear | None:
    """`x*k + x//c*(-c*k) -> x%c*k`, the definition of the remainder."""
    if coefficient % divisor:
        return None
    factor = -coefficient // divisor
    inner = linear_of(term.src[0])
    if inner is None or not inner.terms:
        return None
    terms = form.terms
    for t, c in inner.terms.items():
        if terms.get(t) != c * factor:
            return None
    rest = {t: c for t, c in terms.items() if t is not term and t not in inner.terms}
    remainder = UOp(Ops.FLOORMOD, term.src)
    rest[remainder] = rest.get(remainder, 0) + factor
    return Linear(rest, form.const - inner.const * factor)


def _replaced(form: Linear, gone: tuple[UOp, UOp], x: UOp, coefficient: int) -> Linear:
    """Drop two terms of a form and add `x * coefficient`."""
    terms = {t: c for t, c in form.terms.items() if t is not gone[0] and t is not gone[1]}
    inner = linear_of(x) or Linear({x: 1}, 0)
    return added(Linear(terms, form.const), scaled(inner, coefficient))


@keeps_shape
def normalize_product(u: UOp) -> UOp | None:
    """`a * b` -> factors in canonical order times one constant, which is distributed over a sum.

    Sound at any width. Products of two sums are multiplied out only over variables, where equality
    of sizes has to be seen; an index keeps `range * (size + 1)`, which division can take apart.
    """
    if CANONICAL in u.__dict__:
        return None
    a, b = u.src
    if int_const(a) is not None or int_const(b) is not None:
        form = linear_of(u)
        if form is None:
            return None
        if u in form.terms and form.terms[u] == 1:
            # a product that stays as it is: only the constant goes to the right
            return UOp(Ops.MUL, (b, a)) if int_const(a) is not None else None
        result = build(form, u.dtype, True, u)
        return None if result is u else result
    scale = 1
    opened = 0
    factors: list[UOp] = []
    stack = [b, a]
    while stack:
        factor = stack.pop()
        value = int_const(factor)
        if value is not None:
            scale *= value
        elif factor.op is Ops.MUL and factor.dtype is u.dtype:
            opened += 1
            if opened > MAX_TERMS:
                return None
            stack.extend(reversed(factor.src))
        else:
            factors.append(factor)
    if len(factors) == 2 and u.dtype is dtypes.weakint and not u.ranges:
        expanded = _multiplied_out(factors[0], factors[1], scale)
        if expanded is not None:
            return expanded
    result = product_of(factors)
    if scale != 1:
        result = UOp(Ops.MUL, (result, UOp.const(scale, result.dtype)))
    return None if result is u or result.dtype is not u.dtype else result


def _multiplied_out(a: UOp, b: UOp, scale: int) -> UOp | None:
    """`(a + b) * (c + d) -> a*c + a*d + b*c + b*d` for weakint sizes of few terms."""
    form_a, form_b = linear_of(a), linear_of(b)
    if form_a is None or form_b is None:
        return None
    count_a = len(form_a.terms) + (form_a.const != 0)
    count_b = len(form_b.terms) + (form_b.const != 0)
    if count_a * count_b == 1 or count_a * count_b > MAX_TERMS // 2:
        return None
    result = Linear({}, 0)
    for term, coefficient in (*form_a.terms.items(), (None, form_a.const)):
        if term is None:
            partial = scaled(form_b, coefficient)
        else:
            products = {
                product_of([term, other]): value * coefficient
                for other, value in form_b.terms.items()
            }
            if form_b.const:
                products[term] = products.get(term, 0) + form_b.const * coefficient
            partial = Linear(products, 0)
        result = added(result, partial)
    return build(scaled(result, scale), dtypes.weakint)


def product_of(factors: list[UOp]) -> UOp:
    """Multiply factors in canonical order; repeated ones stay beside each other."""
    distinct = in_order(list(dict.fromkeys(factors)))
    result: UOp | None = None
    for factor in distinct:
        for _ in range(factors.count(factor)):
            result = factor if result is None else UOp(Ops.MUL, (result, factor))
    assert result is not None
    return result


sums = PatternMatcher(
    [
        (UPat((Ops.ADD, Ops.SUB), name="u", dtype=INTS), normalize_sum),
        (UPat(Ops.MUL, name="u", dtype=INTS), normalize_product),
    ]
)
