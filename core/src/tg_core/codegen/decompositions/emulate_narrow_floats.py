"""Compute narrow floats in float32, and keep the formats a target cannot store as integers.

Input: a kernel SINK with committed dtypes. Output:
* arithmetic in a dtype outside of `native_dtypes` is done in float32 and rounded to the dtype after
  each operation; comparisons too, where no rounding can show; transcendental functions and
  remainders of every float narrower than float32 likewise, native or not;
* WHERE only moves bits, those of a NaN included; MAX, TRUNC and negation keep infinities, also in a
  format that rounding saturates;
* a dtype outside of `storage_dtypes` is loaded and stored as the unsigned integer of its size, with
  encoding and decoding in the kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg_core.codegen.decompositions.narrow_float_formats import (
    FORMATS,
    decode,
    encode,
    round_to_odd,
)
from tg_core.codegen.decompositions.utils import choose, is_equal
from tg_core.codegen.utils import map_graph, with_sources
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import GroupOp, Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_WIDE: Final = frozenset(
    (Ops.EXP2, Ops.LOG2, Ops.SIN, Ops.POW, Ops.FLOORDIV, Ops.FLOORMOD, Ops.CMOD)
)
_EMULATED: Final = frozenset(GroupOp.ALU | {Ops.REDUCE}) - {Ops.WHERE}
_ALL: Final = frozenset(FORMATS)
_SATURATING: Final = frozenset(
    d for d, f in FORMATS.items() if f.infinity not in (None, f.overflow)
)
"""The formats whose infinities only moves keep."""


def _widen(node: UOp) -> UOp:
    value = node.const_value
    if node.op is Ops.CAST and node.src[0].op is Ops.CONST and value is not None:
        return UOp.const(value, dtypes.float32)
    return UOp(Ops.CAST, (node,), dtypes.float32)


def _keeps_infinity(node: UOp) -> bool:
    """Tell whether a node of a saturating format is infinite where what it picks or negates is."""
    if node.dtype not in _SATURATING:
        return False
    if node.op is Ops.MUL:
        return node.src[1].const_value == -1.0
    return node.op in (Ops.MAX, Ops.TRUNC) or (node.op is Ops.REDUCE and node.arg is Ops.MAX)


def _with_infinities(value: UOp, dtype: DType) -> UOp:
    """Return float32 values that a saturating format can hold in it, infinities as such."""
    layout, result = FORMATS[dtype], UOp(Ops.CAST, (value,), dtype)
    for sign, limit in ((0, math.inf), (1 << FORMATS[dtype].sign_shift, -math.inf)):
        assert layout.infinity is not None
        code = UOp.const(layout.infinity | sign, layout.unsigned).bitcast(dtype)
        result = choose(is_equal(value, limit), code, result)
    return result


def compute_in_float32(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with arithmetic in native dtypes only.

    Args:
        sink: a kernel before expansion.
        renderer: says which dtypes it computes in.
    """
    narrow = frozenset(d for d in FORMATS if d not in renderer.native_dtypes)

    def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node.op not in _EMULATED:
            return with_sources(node, src)
        operands = src[:1] if node.op is Ops.REDUCE else src
        wanted = _ALL if node.op in _WIDE else narrow
        kept = _keeps_infinity(node)
        if kept:
            # native or not: a reduction starts with minus infinity, which is no constant of them
            wanted = wanted | _SATURATING
        if not any(s.dtype in wanted for s in operands):
            return with_sources(node, src)
        wide = tuple([_widen(s) if s.dtype in wanted else s for s in operands])
        result = UOp(node.op, (*wide, *src[len(wide) :]), node.arg, node.tag)
        if node.dtype not in wanted:
            return result
        return _with_infinities(result, node.dtype) if kept else result.cast(node.dtype)

    return map_graph(sink, visit)


def store_as_integers(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with storage in dtypes the target can load and store.

    Args:
        sink: a kernel after `compute_in_float32`.
        renderer: says which dtypes it stores and converts.
    """
    encoded: dict[DType, DType] = {
        d: f.unsigned for d, f in FORMATS.items() if d not in renderer.storage_dtypes
    }
    if not encoded:
        return sink

    def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node.op in (Ops.PARAM, Ops.BUFFER) and node.dtype in encoded:
            arg = node.arg
            return UOp(
                node.op, src, type(arg)(**{**vars(arg), "dtype": encoded[node.dtype]}), node.tag
            )
        if node.op is Ops.BITCAST and (node.arg in encoded or node.src[0].dtype in encoded):
            return src[0].bitcast(encoded.get(node.arg, node.arg))
        if node.op is not Ops.CAST:
            return with_sources(node, src)
        source = node.src[0].dtype
        value = decode(src[0], source) if source in encoded else src[0]
        if node.arg not in encoded:
            return value.cast(node.arg)
        if node.src[0].op is Ops.CONST:
            # rounded here: the constant is mathematical until it has a width
            value = UOp.const(float(node.const_value), dtypes.float32)  # type: ignore[arg-type]  # a cast constant is a number
        if value.dtype is dtypes.float64:
            return encode(round_to_odd(value), node.arg)
        return encode(value.cast(dtypes.float32), node.arg)

    return map_graph(sink, visit)
