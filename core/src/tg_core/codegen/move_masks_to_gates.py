"""Turn masked indices into gates.

Input: a kernel SINK whose indices may be `WHERE(valid, i, Invalid)`. Output: plain indices; a
    masked LOAD reads 0 where its gate
is false, a masked STORE writes nothing. A WHERE around the load that repeats the gate with the same
alternative goes.
"""

from __future__ import annotations

from tg_core.codegen.utils import split_mask
from tg_core.dtype import Invalid, InvalidType
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite


def swap_inverted_mask(mask: UOp, bad: UOp, index: UOp) -> UOp | None:
    """WHERE(m, Invalid, i) -> WHERE(!m, i, Invalid). The same choice, in the form the other rules
    know.
    """
    if index.op is Ops.CONST and index.arg is Invalid:
        return None
    return UOp(Ops.WHERE, (UOp(Ops.CMPNE, (mask, UOp.const(True))), index, bad))


def join_nested_masks(outer: UOp, inner: UOp, index: UOp, bad: UOp) -> UOp:
    """WHERE(a, WHERE(b, i, Invalid), Invalid) -> WHERE(a & b, i, Invalid). Valid where both are."""
    return UOp(Ops.WHERE, (UOp(Ops.AND, (outer, inner)), index, bad))


def gate_load(load: UOp, place: UOp) -> UOp | None:
    """LOAD(INDEX(b, WHERE(m, i, Invalid))) -> LOAD(INDEX(b, i), 0, m). A masked read is 0 by
    definition.
    """
    mask, index = split_mask(place.src[1])
    if index.op is Ops.CONST and index.arg is Invalid:
        return UOp.const(0, load.dtype)
    if mask is None:
        return None
    alternative = load.src[1] if len(load.src) > 1 else UOp.const(0, load.dtype)
    gate = UOp(Ops.AND, (load.src[2], mask)) if len(load.src) > 1 else mask
    return UOp(Ops.LOAD, (UOp(Ops.INDEX, (place.src[0], index), place.arg), alternative, gate))


def gate_store(store: UOp, place: UOp) -> UOp | None:
    """STORE(INDEX(b, WHERE(m, i, Invalid)), v) -> STORE(INDEX(b, i), v, m). A masked write does
    nothing.
    """
    mask, index = split_mask(place.src[1])
    if index.op is Ops.CONST and index.arg is Invalid:
        return UOp(Ops.NOOP)
    if mask is None:
        return None
    gate = UOp(Ops.AND, (store.src[2], mask)) if len(store.src) > 2 else mask
    return UOp(Ops.STORE, (UOp(Ops.INDEX, (place.src[0], index), place.arg), store.src[1], gate))


def drop_repeated_mask(mask: UOp, load: UOp, other: UOp) -> UOp | None:
    """WHERE(m, LOAD(x, c, m), c) -> LOAD(x, c, m). Where m is false the load already gives c."""
    if len(load.src) < 3 or load.src[2] is not mask:
        return None
    alternative, value = load.src[1].const_value, other.const_value
    if isinstance(alternative, InvalidType | None) or isinstance(value, InvalidType | None):
        return None
    # 0.0 and -0.0 compare equal but are not the same value
    return load if repr(float(alternative)) == repr(float(value)) else None


def settle_load(load: UOp, alt: UOp, gate: UOp) -> UOp | None:
    """LOAD(x, c, True) -> LOAD(x); LOAD(x, c, False) -> c. By the definition of a gate."""
    value = gate.const_value
    if value is None:
        return None
    return UOp(Ops.LOAD, load.src[:1], None, load.tag) if value else alt


def settle_store(store: UOp, gate: UOp) -> UOp | None:
    """STORE(x, v, True) -> STORE(x, v); STORE(x, v, False) -> NOOP. By the definition of a gate."""
    value = gate.const_value
    if value is None:
        return None
    return UOp(Ops.STORE, store.src[:2], None, store.tag) if value else UOp(Ops.NOOP)


_INVALID = UPat(Ops.CONST, arg=Invalid, name="bad")

settle_gates = PatternMatcher(
    [
        (
            UPat(Ops.LOAD, (UPat(Ops.INDEX), UPat.var("alt"), UPat.cvar("gate")), name="load"),
            settle_load,
        ),
        (UPat(Ops.STORE, (UPat(Ops.INDEX), UPat(), UPat.cvar("gate")), name="store"), settle_store),
    ]
)
"""Rules that remove gates known to be open or shut."""

_masks = (
    PatternMatcher(
        [
            (UPat(Ops.WHERE, (UPat.var("mask"), _INVALID, UPat.var("index"))), swap_inverted_mask),
            (
                UPat(
                    Ops.WHERE,
                    (
                        UPat.var("outer"),
                        UPat(Ops.WHERE, (UPat.var("inner"), UPat.var("index"), _INVALID)),
                        UPat(Ops.CONST, arg=Invalid),
                    ),
                ),
                join_nested_masks,
            ),
            (
                UPat(Ops.LOAD, (UPat(Ops.INDEX, name="place"),), name="load", allow_any_len=True),
                gate_load,
            ),
            (
                UPat(Ops.STORE, (UPat(Ops.INDEX, name="place"),), name="store", allow_any_len=True),
                gate_store,
            ),
            (
                UPat(Ops.WHERE, (UPat.var("mask"), UPat(Ops.LOAD, name="load"), UPat.var("other"))),
                drop_repeated_mask,
            ),
        ]
    )
    + settle_gates
)


def move_masks_to_gates(sink: UOp) -> UOp:
    """Return the kernel with gates instead of masked indices."""
    return graph_rewrite(sink, _masks, name="move masks to gates")
