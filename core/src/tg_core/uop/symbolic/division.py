"""Floor division and floor modulo of integers.

The rules take the numerator apart as a linear form. They hold for exact integers, so at a concrete
width each first checks that the numerator's exact value cannot wrap. Nothing here looks at the
truncating forms, which `truncation` owns.
"""

from __future__ import annotations

import math

from tg_core.dtype import DType
from tg_core.uop.bounds_common import dtype_bounds
from tg_core.uop.opcodes import Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.division_by_variable import divide_by_variable, modulo_by_variable
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
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp


@keeps_shape
def simplify_floor_div(u: UOp) -> UOp | None:
    """`x // c` -> quotients taken out of the sum x, and a smaller division of what is left.

    See the helpers for each rule. Sound for exact integers; checked for concrete widths.
    """
    x, d = u.src
    divisor = int_const(d)
    if divisor is None:
        return divide_by_variable(u)
    if divisor == 0:
        return None
    if divisor == 1:
        return x if x.dtype is u.dtype else None
    found = _exact_numerator(u)
    if found is None:
        return None
    form, (low, high) = found
    if divisor < 0:
        return _negate_both(u, form, divisor)
    if low // divisor == high // divisor:
        return UOp.const(low // divisor, u.dtype)
    quotient, rest = divided(form, divisor)
    if not rest.terms:
        return build(Linear(quotient.terms, quotient.const + rest.const // divisor), u.dtype)
    rest_bounds = exact_bounds(rest, u.dtype)
    if rest_bounds is None or exact_bounds(quotient, u.dtype) is None:
        return None
    if quotient.terms or quotient.const:
        low, high = rest_bounds
        if low // divisor == high // divisor:
            whole = Linear(quotient.terms, quotient.const + low // divisor)
            return build(whole, u.dtype)
        inner = UOp(Ops.FLOORDIV, (build(rest, x.dtype, like=x), d))
        return build(added(quotient, Linear({inner: 1}, 0)), u.dtype)
    return _divide_rest(u, rest, divisor)


def _exact_numerator(u: UOp) -> tuple[Linear, tuple[int, int]] | None:
    """Write the numerator as a sum, with its bounds; None where its width may wrap."""
    form = linear_of(u.src[0])
    bounds = None if form is None else exact_bounds(form, u.dtype)
    return None if form is None or bounds is None else (form, bounds)


def _negate_both(u: UOp, form: Linear, divisor: int) -> UOp | None:
    """`x // -c -> (-x) // c` for c > 0, the same rational number and so the same floor."""
    negated = scaled(form, -1)
    if exact_bounds(negated, u.dtype) is None or -divisor > dtype_bounds(u.dtype)[1]:
        return None
    numerator = build(negated, u.src[0].dtype)
    return UOp(Ops.FLOORDIV, (numerator, UOp.const(-divisor, u.src[1].dtype)))


def _divide_rest(u: UOp, rest: Linear, divisor: int) -> UOp | None:
    """Divide a form from which nothing can be taken out as a whole.

    `(g*y + k) // (g*d) -> (y + k//g) // d`,
    `(g*y + s) // (g*d) -> (y + m) // d` where s stays in [m*g, m*g + g), and
    `(y//a + k) // c -> (y + k*a) // (a*c)` for positive a.
    """
    dtype, d = u.dtype, u.src[1]
    found = _without_small_terms(rest, divisor)
    if found is not None:
        large, factor, _ = found
        numerator = build(large, u.src[0].dtype)
        if factor == divisor:
            return numerator if numerator.dtype is dtype else None
        return UOp(Ops.FLOORDIV, (numerator, UOp.const(divisor // factor, d.dtype)))
    if len(rest.terms) == 1:
        ((term, coefficient),) = rest.terms.items()
        if term.op is Ops.FLOORDIV and coefficient == 1:
            inner = int_const(term.src[1])
            if inner is not None and inner > 0:
                return _merge_divisions(u, term, inner, rest.const, divisor)
    numerator = build(rest, u.src[0].dtype, like=u.src[0])
    result = UOp(Ops.FLOORDIV, (numerator, d))
    return None if result is u else result


def _without_small_terms(rest: Linear, divisor: int) -> tuple[Linear, int, Linear] | None:
    """Find the largest g dividing `divisor` so that `rest` is `g*large + small`, 0 <= small < g.

    Returns:
        large, g, small; None when there is no g above 1.
    """
    factors = {math.gcd(c, divisor) for c in rest.terms.values()}
    factors.add(math.gcd(*rest.terms.values(), divisor))
    for factor in sorted(factors, reverse=True):
        if factor == 1:
            return None
        large, small = divided(rest, factor)
        low, high = form_bounds(small)
        multiple = low // factor
        if multiple == high // factor:
            return (
                Linear(large.terms, large.const + multiple),
                factor,
                Linear(small.terms, small.const - multiple * factor),
            )
    return None


def _merge_divisions(u: UOp, term: UOp, inner: int, const: int, divisor: int) -> UOp | None:
    """`(y//a + k) // c -> (y + k*a) // (a*c)` for positive a and c: a floor of a floor."""
    y = term.src[0]
    form = linear_of(y)
    if form is None:
        return None
    shifted = Linear(form.terms, form.const + const * inner)
    if exact_bounds(shifted, u.dtype) is None or exact_bounds(form, u.dtype) is None:
        return None
    if inner * divisor > dtype_bounds(u.dtype)[1]:
        return None
    merged = UOp.const(inner * divisor, u.src[1].dtype)
    return UOp(Ops.FLOORDIV, (build(shifted, y.dtype), merged))


@keeps_shape
def simplify_floor_mod(u: UOp) -> UOp | None:
    """`x % c` -> the sum x reduced modulo c, with the part that c cannot touch outside.

    See the helpers for each rule. Sound for exact integers; checked for concrete widths.
    """
    x, d = u.src
    divisor = int_const(d)
    if divisor is None:
        return modulo_by_variable(u)
    if divisor == 0:
        return None
    if divisor in (1, -1):
        return UOp.const(0, u.dtype)
    found = _exact_numerator(u)
    if found is None:
        return None
    form, (low, high) = found
    if divisor < 0:
        return _negate_modulo(u, form, divisor)
    if low // divisor == high // divisor:
        return build(Linear(form.terms, form.const - low // divisor * divisor), u.dtype)
    rest = _reduced(form, divisor, u.dtype)
    if not rest.terms:
        return UOp.const(rest.const, u.dtype)
    rest_bounds = exact_bounds(rest, u.dtype)
    if rest_bounds is None:
        return None
    low, high = rest_bounds
    if low // divisor == high // divisor:
        return build(Linear(rest.terms, rest.const - low // divisor * divisor), u.dtype)
    parts = _without_small_terms(rest, divisor)
    if parts is not None:
        return _modulo_of_large(u, divisor, *parts)
    result = UOp(Ops.FLOORMOD, (build(rest, x.dtype, like=x), d))
    return None if result is u else result


def _negate_modulo(u: UOp, form: Linear, divisor: int) -> UOp | None:
    """`x % -c -> -((-x) % c)` for c > 0, from `x // -c = (-x) // c`."""
    negated = scaled(form, -1)
    if exact_bounds(negated, u.dtype) is None or -divisor > dtype_bounds(u.dtype)[1]:
        return None
    numerator = build(negated, u.src[0].dtype)
    inner = UOp(Ops.FLOORMOD, (numerator, UOp.const(-divisor, u.src[1].dtype)))
    return build(Linear({inner: -1}, 0), u.dtype)


def _reduced(form: Linear, divisor: int, dtype: DType) -> Linear:
    """Drop multiples of the divisor, and inner remainders whose modulus it divides.

    `(x + a*c*y) % c -> x % c` and `(a*(y % m) + x) % c -> (a*y + x) % c` where c divides a*m, both
    because the values differ by a multiple of c. Coefficients of small magnitude keep their sign.
    """
    result = Linear({}, form.const)
    for term, coefficient in form.terms.items():
        if coefficient % divisor == 0:
            continue
        if term.op is Ops.FLOORMOD:
            modulus = int_const(term.src[1])
            inner = linear_of(term.src[0])
            if modulus and inner is not None and coefficient * modulus % divisor == 0:
                if exact_bounds(inner, dtype) is not None:
                    result = added(result, inner, coefficient)
                    continue
        result = added(result, Linear({term: coefficient}, 0))
    terms: dict[UOp, int] = {}
    for term, coefficient in result.terms.items():
        if abs(coefficient) >= divisor:
            coefficient %= divisor
        if coefficient:
            terms[term] = coefficient
    return Linear(terms, result.const % divisor)


def _modulo_of_large(u: UOp, divisor: int, large: Linear, factor: int, small: Linear) -> UOp | None:
    """`(g*y + s) % (g*d) -> (y % d) * g + s` where 0 <= s < g: s never carries into y."""
    if exact_bounds(large, u.dtype) is None:
        return None
    if factor == divisor:
        return build(small, u.dtype)
    modulus = UOp.const(divisor // factor, u.src[1].dtype)
    inner = UOp(Ops.FLOORMOD, (build(large, u.src[0].dtype), modulus))
    return build(added(small, Linear({inner: factor}, 0)), u.dtype)


division = PatternMatcher(
    [
        (UPat(Ops.FLOORDIV, name="u", dtype=INTS), simplify_floor_div),
        (UPat(Ops.FLOORMOD, name="u", dtype=INTS), simplify_floor_mod),
    ]
)
