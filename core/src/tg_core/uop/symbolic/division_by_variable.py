"""Floor division and modulo of weakint sums by sizes that are no constants."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.uop.opcodes import Ops
from tg_core.uop.symbolic.linear import Linear, added, build, form_bounds, int_const, linear_of
from tg_core.uop.symbolic.sums import product_of
from tg_core.uop.uop import UOp


def _factors(term: UOp) -> list[UOp]:
    """List the factors of a product."""
    factors: list[UOp] = []
    stack = [term]
    while stack:
        node = stack.pop()
        if node.op is Ops.MUL:
            stack.extend(reversed(node.src))
        else:
            factors.append(node)
    return factors


def _split(form: Linear, d: UOp) -> tuple[Linear, Linear]:
    """Write `x` as `d * quotient + rest` for a divisor that is a product of variables."""
    scale, wanted = 1, []
    for factor in _factors(d):
        value = int_const(factor)
        if value is None:
            wanted.append(factor)
        else:
            scale *= value
    quotient: dict[UOp, int] = {}
    rest: dict[UOp, int] = {}
    whole = 0
    for term, coefficient in form.terms.items():
        if term is d:
            whole += coefficient
            continue
        left = _factors(term)
        for factor in wanted:
            if factor in left:
                left.remove(factor)
            else:
                break
        else:
            if coefficient % scale == 0:
                if left:
                    cofactor = product_of(left)
                    quotient[cofactor] = quotient.get(cofactor, 0) + coefficient // scale
                else:
                    whole += coefficient // scale
                continue
        rest[term] = coefficient
    return Linear(quotient, whole), Linear(rest, form.const)


def _below_divisor(rest: Linear, d: UOp) -> bool:
    """Whether `0 <= rest < d` for every value of the variables."""
    low, high = form_bounds(rest)
    if low < 0:
        return False
    if high < d.vmin:
        return True
    if rest.const == 0 and len(rest.terms) == 1:
        ((term, coefficient),) = rest.terms.items()
        if coefficient == 1 and term.op in (Ops.RANGE, Ops.SPECIAL):
            return term.src[0] is d
    return False


def _taken_apart(u: UOp) -> tuple[Linear, Linear, bool] | None:
    """Write the numerator as `d * quotient + rest`.

    Returns:
        Quotient, rest, and whether 0 <= rest < d; or None where d may be zero or negative, or the
        value may wrap.
    """
    x, d = u.src
    if d.vmin <= 0 or u.dtype is not dtypes.weakint:
        return None
    form = Linear({d: 1}, 0) if x is d else linear_of(x)
    if form is None:
        return None
    quotient, rest = _split(form, d)
    return quotient, rest, not (rest.terms or rest.const) or _below_divisor(rest, d)


def divide_by_variable(u: UOp) -> UOp | None:
    """`(a*d + s) // d -> a + s//d`, and `s//d -> 0` where 0 <= s < d, for a positive divisor d.

    Args:
        u: a FLOORDIV.

    Returns:
        The replacement, or None.
    """
    found = _taken_apart(u)
    if found is None:
        return None
    quotient, rest, final = found
    if final:
        return build(quotient, u.dtype)
    x, d = u.src
    if quotient.terms or quotient.const:
        inner = UOp(Ops.FLOORDIV, (build(rest, x.dtype, like=x), d))
        return build(added(quotient, Linear({inner: 1}, 0)), u.dtype)
    return None


def modulo_by_variable(u: UOp) -> UOp | None:
    """`(a*d + s) % d -> s % d`, and `s % d -> s` where 0 <= s < d, for a positive divisor d.

    Args:
        u: a FLOORMOD.

    Returns:
        The replacement, or None.
    """
    found = _taken_apart(u)
    if found is None:
        return None
    quotient, rest, final = found
    if final:
        return build(rest, u.dtype)
    x, d = u.src
    if quotient.terms or quotient.const:
        return UOp(Ops.FLOORMOD, (build(rest, x.dtype, like=x), d))
    return None
