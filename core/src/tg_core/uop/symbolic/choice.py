"""Decisions that bounds can make: maxima, choices, and values with only one possibility."""

from __future__ import annotations

from tg_core.dtype import Invalid, dtypes
from tg_core.uop.opcodes import GroupOp, Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.symbolic.identities import same_value
from tg_core.uop.symbolic.linear import int_const
from tg_core.uop.symbolic.sums import INTS
from tg_core.uop.uop import UOp

_INTEGRAL = (*INTS, dtypes.bool)


def value_from_bounds(u: UOp) -> UOp | None:
    """`u -> c` where the bounds of u are (c, c).

    Only for integers and bools: a float interval of one point does not know the sign of zero.
    """
    low, high = u.bounds
    if low != high or (u.op is Ops.CAST and u.src[0].op is Ops.CONST):
        return None
    if any(s.op is Ops.CONST and s.arg is Invalid for s in u.src):
        return None
    return None if u.shape else UOp.const(low, u.dtype)


def range_of_one(u: UOp) -> UOp | None:
    """`range(1) -> 0`; a loop that may run zero times decides whether its body runs, and stays."""
    return UOp.const(0, u.dtype) if int_const(u.src[0]) == 1 else None


def drop_constant_ranges(u: UOp) -> UOp | None:
    """`end(x, 0, r) -> end(x, r)`, `reduce(x, 0, r) -> reduce(x, r)`: loops of one iteration."""
    kept = tuple(r for r in u.src[1:] if r.op is not Ops.CONST and r.const_value is None)
    if len(kept) == len(u.src) - 1:
        return None
    if not kept:
        return u.src[0]
    return UOp(u.op, (u.src[0], *kept), u.arg)


def max_by_bounds(u: UOp) -> UOp | None:
    """`max(a, b) -> a` where a is never below b, for integers and bools."""
    a, b = u.src
    if a.vmin >= b.vmax:
        return same_value(a, u)
    if b.vmin >= a.vmax:
        return same_value(b, u)
    return None


def max_of_max(u: UOp) -> UOp | None:
    """`max(max(x, c), d) -> max(x, max(c, d))` for integer constants."""
    inner, d = u.src
    if inner.op is not Ops.MAX or inner.dtype is not u.dtype:
        return None
    first, second = int_const(inner.src[1]), int_const(d)
    if first is None or second is None:
        return None
    return UOp(Ops.MAX, (inner.src[0], UOp.const(max(first, second), d.dtype)))


def choice_of_shifted(u: UOp) -> UOp | None:
    """`where(c, k, m) + n -> where(c, k + n, m + n)` for constants, the same for products.

    Exact modulo 2^width.
    """
    choice, n = u.src
    if choice.op is not Ops.WHERE or choice.dtype is not u.dtype:
        return None
    if any(int_const(s) is None for s in (choice.src[1], choice.src[2], n)):
        return None
    cond, k, m = choice.src
    return UOp(Ops.WHERE, (cond, UOp(u.op, (k, n)), UOp(u.op, (m, n))))


def merge_choices_of_one_condition(u: UOp) -> UOp | None:
    """`where(c, a, b) * where(c, d, e) -> where(c, a*d, b*e)` where a constant meets a constant.

    Holds for every elementwise operation, since each lane takes the same branch of both.
    """
    a, b = u.src
    if a.op is not Ops.WHERE or b.op is not Ops.WHERE or a.src[0] is not b.src[0]:
        return None
    both_true = a.src[1].const_value is not None and b.src[1].const_value is not None
    both_false = a.src[2].const_value is not None and b.src[2].const_value is not None
    if not (both_true or both_false) or Invalid in (a.src[2].arg, b.src[2].arg):
        return None
    result = UOp(
        Ops.WHERE,
        (a.src[0], UOp(u.op, (a.src[1], b.src[1])), UOp(u.op, (a.src[2], b.src[2]))),
    )
    return same_value(result, u)


def cast_of_choice(u: UOp) -> UOp | None:
    """`cast(where(c, k, m)) -> where(c, cast(k), cast(m))` for constants."""
    cond, k, m = u.src[0].src
    if any(v is None or v is Invalid for v in (k.const_value, m.const_value)):
        return None
    return UOp(Ops.WHERE, (cond, UOp(Ops.CAST, (k,), u.arg), UOp(Ops.CAST, (m,), u.arg)))


def product_with_bool(u: UOp, x: UOp, b: UOp) -> UOp | None:
    """`cast(b) * x -> where(b, x, 0)` for integers, where nothing times zero is anything else."""
    if x.dtype is not u.dtype:
        return None
    return same_value(UOp(Ops.WHERE, (b, x, UOp.const(0, u.dtype))), u)


def choice_compared(u: UOp) -> UOp | None:
    """`where(c, k, m) < n -> where(c, k < n, m < n)` for integer constants; likewise != and ==."""
    choice, n = u.src
    if choice.op is not Ops.WHERE or int_const(n) is None:
        return None
    cond, k, m = choice.src
    if int_const(k) is None or int_const(m) is None:
        return None
    return UOp(Ops.WHERE, (cond, UOp(u.op, (k, n)), UOp(u.op, (m, n))))


def bool_cast_compared(u: UOp, b: UOp, c: UOp) -> UOp | None:
    """`cast(b) != 0 -> b`, `cast(b) == 1 -> b`, ... : a bool made a number, compared with one."""
    value = int_const(c)
    if value is None:
        return None
    if u.op is Ops.CMPLT:
        outcomes = (value > 0, value > 1)
    else:
        outcomes = (value == 0, value == 1)
        if u.op is Ops.CMPNE:
            outcomes = (not outcomes[0], not outcomes[1])
    if outcomes[0] == outcomes[1]:
        return UOp.const(outcomes[0]) if not u.shape else None
    return b if outcomes[1] else UOp(Ops.CMPNE, (b, UOp.const(True)))


_RESULTS = tuple(
    sorted(
        (GroupOp.ALU | {Ops.CAST, Ops.REDUCE}) - {Ops.WHERE},
    )
)
_choice = UPat(Ops.WHERE)
_bool_cast = UPat(Ops.CAST, (UPat.var("b", dtypes.bool),), dtype=INTS)

choices = PatternMatcher(
    [
        (UPat((*_RESULTS, Ops.WHERE), name="u", dtype=_INTEGRAL), value_from_bounds),
        (UPat((Ops.RANGE, Ops.SPECIAL), name="u"), range_of_one),
        (UPat((Ops.END, Ops.REDUCE), name="u"), drop_constant_ranges),
        (UPat(Ops.MAX, name="u", dtype=_INTEGRAL), max_by_bounds),
        (UPat(Ops.MAX, name="u", dtype=INTS), max_of_max),
        (UPat((Ops.ADD, Ops.MUL), (_choice, UPat.cvar()), name="u", dtype=INTS), choice_of_shifted),
        (UPat(GroupOp.Binary, (_choice, _choice), name="u"), merge_choices_of_one_condition),
        (UPat(Ops.CAST, (UPat(Ops.WHERE),), name="u"), cast_of_choice),
        (UPat(Ops.MUL, [UPat.var("x"), _bool_cast], name="u", dtype=INTS), product_with_bool),
        (UPat(GroupOp.Comparison, (_choice, UPat.cvar()), name="u"), choice_compared),
        (UPat(GroupOp.Comparison, (_bool_cast, UPat.cvar("c")), name="u"), bool_cast_compared),
    ]
)  # fmt: skip
