"""Truncating division and modulo (CDIV, CMOD): what is sound without knowing the floor forms."""

from __future__ import annotations

from tg_core.uop.bounds_common import dtype_bounds
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
)
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp


def _split_evenly(u: UOp, divisor: int) -> tuple[Linear, Linear] | None:
    """Write `x` as `c*q + rest` where truncation acts on `rest` alone.

    That holds if nothing is left, or if both `x` and `rest` are never negative and c is positive:
    then every division involved rounds the same way.
    """
    x = u.src[0]
    form = linear_of(x)
    if form is None:
        return None
    bounds = exact_bounds(form, u.dtype)
    if bounds is None:
        return None
    taken, left = divided(form, divisor)
    if not (taken.terms or taken.const) or exact_bounds(taken, u.dtype) is None:
        return None
    if not (left.terms or left.const):
        return taken, left
    if divisor > 0 and bounds[0] >= 0 and form_bounds(left)[0] >= 0:
        return (taken, left) if exact_bounds(left, u.dtype) is not None else None
    return None


@keeps_shape
def simplify_trunc_div(u: UOp) -> UOp | None:
    """Simplify `x / c`, rounded toward zero.

    `x / 1 -> x`, `x / c -> 0` where |x| < |c|, `(c*q + s) / c -> q + s / c`, `(x/a)/b -> x/(a*b)`:
    the third needs `_split_evenly`. The last holds for all signs, since truncating twice moves
    toward zero twice; the product of the divisors has to fit the dtype.
    """
    x, d = u.src
    divisor = int_const(d)
    if divisor is None or divisor == 0:
        return None
    if divisor == 1:
        return x if x.dtype is u.dtype else None
    if x.vmin > -abs(divisor) and x.vmax < abs(divisor):
        return UOp.const(0, u.dtype)
    if x.op is Ops.CDIV:
        inner = int_const(x.src[1])
        least, greatest = dtype_bounds(u.dtype)
        if inner is not None and inner != 0 and least <= inner * divisor <= greatest:
            return UOp(Ops.CDIV, (x.src[0], UOp.const(inner * divisor, d.dtype)))
    split = _split_evenly(u, divisor)
    if split is None:
        return None
    quotient, rest = split
    if not (rest.terms or rest.const):
        return build(quotient, u.dtype)
    inner_div = UOp(Ops.CDIV, (build(rest, x.dtype), d))
    return build(added(quotient, Linear({inner_div: 1}, 0)), u.dtype)


@keeps_shape
def simplify_trunc_mod(u: UOp) -> UOp | None:
    """`x % 1 -> 0`, `x % c -> x` where |x| < |c|, `(c*q + s) % c -> s % c`.

    The last needs `_split_evenly`.
    """
    x, d = u.src
    divisor = int_const(d)
    if divisor is None or divisor == 0:
        return None
    if divisor in (1, -1):
        return UOp.const(0, u.dtype)
    if x.vmin > -abs(divisor) and x.vmax < abs(divisor):
        return x if x.dtype is u.dtype else None
    split = _split_evenly(u, divisor)
    if split is None:
        return None
    rest = split[1]
    if not (rest.terms or rest.const):
        return UOp.const(0, u.dtype)
    return UOp(Ops.CMOD, (build(rest, x.dtype), d))


truncation = PatternMatcher(
    [
        (UPat(Ops.CDIV, name="u", dtype=INTS), simplify_trunc_div),
        (UPat(Ops.CMOD, name="u", dtype=INTS), simplify_trunc_mod),
    ]
)
