"""Masked values: `where(valid, x, Invalid)` moves outward until it is the whole index."""

from __future__ import annotations

from tg_core.dtype import Invalid
from tg_core.uop.opcodes import GroupOp, Ops
from tg_core.uop.pattern import PatternMatcher, UPat
from tg_core.uop.uop import UOp

_binary = tuple(sorted(GroupOp.Binary))
_invalid = UPat(Ops.CONST, arg=Invalid, name="invalid")
_v, _w, _a, _b = UPat.var("v"), UPat.var("w"), UPat.var("a"), UPat.var("b")


def masked_with_masked(u: UOp, v: UOp, a: UOp, w: UOp, b: UOp, invalid: UOp) -> UOp:
    """`op(where(v, a, Invalid), where(w, b, Invalid)) -> where(v & w, op(a, b), Invalid)`.

    Invalid poisons: the result is meant only where both operands are.
    """
    mask = v if v is w else UOp(Ops.AND, (v, w))
    return UOp(Ops.WHERE, (mask, UOp(u.op, (a, b)), invalid))


def masked_left(u: UOp, v: UOp, a: UOp, b: UOp, invalid: UOp) -> UOp:
    """`op(where(v, a, Invalid), b) -> where(v, op(a, b), Invalid)`."""
    return UOp(Ops.WHERE, (v, UOp(u.op, (a, b)), invalid))


def masked_right(u: UOp, v: UOp, a: UOp, b: UOp, invalid: UOp) -> UOp:
    """`op(a, where(v, b, Invalid)) -> where(v, op(a, b), Invalid)`."""
    return UOp(Ops.WHERE, (v, UOp(u.op, (a, b)), invalid))


def masked_cast(u: UOp, v: UOp, a: UOp, invalid: UOp) -> UOp:
    """`cast(where(v, a, Invalid)) -> where(v, cast(a), Invalid)`."""
    return UOp(Ops.WHERE, (v, UOp(Ops.CAST, (a,), u.arg), invalid))


def invalid_operand(invalid: UOp) -> UOp:
    """`op(Invalid, x) -> Invalid`."""
    return invalid


def invalid_first(v: UOp, a: UOp, invalid: UOp) -> UOp | None:
    """`where(v, Invalid, a) -> where(!v, a, Invalid)`."""
    if a.op is Ops.CONST and a.arg is Invalid:
        return None
    return UOp(Ops.WHERE, (UOp(Ops.CMPNE, (v, UOp.const(True))), a, invalid))


invalid_operands = PatternMatcher(
    [
        (UPat(_binary, (_invalid, UPat.var())), invalid_operand),
        (UPat(_binary, (UPat.var(), _invalid)), invalid_operand),
    ]
)
"""Before any algebra, which would take Invalid for a number."""

invalid_values = PatternMatcher(
    [
        (
            UPat(
                _binary,
                (UPat(Ops.WHERE, (_v, _a, _invalid)), UPat(Ops.WHERE, (_w, _b, _invalid))),
                name="u",
            ),
            masked_with_masked,
        ),
        (UPat(_binary, (UPat(Ops.WHERE, (_v, _a, _invalid)), _b), name="u"), masked_left),
        (UPat(_binary, (_a, UPat(Ops.WHERE, (_v, _b, _invalid))), name="u"), masked_right),
        (UPat(Ops.CAST, (UPat(Ops.WHERE, (_v, _a, _invalid)),), name="u"), masked_cast),
        (UPat(Ops.WHERE, (_v, _invalid, _a)), invalid_first),
    ]
)
