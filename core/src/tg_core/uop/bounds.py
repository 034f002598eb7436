"""Interval bounds of a node's value: never wrong, allowed to be loose.

`bounds_of` reads only the bounds of a node's sources, so the `UOp` property can fill a graph
sources first. `bounds_common` states the conventions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from tg_core.dtype import DType, Invalid, dtypes
from tg_core.uop.bounds_arithmetic import (
    add_bounds,
    floor_div_bounds,
    floor_mod_bounds,
    mul_bounds,
    mulacc_bounds,
    sub_bounds,
    trunc_div_bounds,
    trunc_mod_bounds,
)
from tg_core.uop.bounds_bits import (
    and_bounds,
    or_bounds,
    shift_left_bounds,
    shift_right_bounds,
    xor_bounds,
)
from tg_core.uop.bounds_common import (
    FALSE,
    TRUE,
    UNKNOWN_BOOL,
    UNKNOWN_FLOAT,
    Bounds,
    all_finite,
    dtype_bounds,
    fit,
    is_float_dtype,
    round_float,
)
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp


def _first_source(u: UOp) -> Bounds:
    return u.src[0].vmin, u.src[0].vmax


def _const(u: UOp) -> Bounds:
    value = u.arg
    if value is Invalid:
        return UNKNOWN_BOOL
    if isinstance(value, float) and math.isnan(value):
        return UNKNOWN_FLOAT
    return value, value


def _param(u: UOp) -> Bounds:
    bounds: Bounds | None = u.arg.bounds
    return dtype_bounds(u.dtype) if bounds is None else bounds


def _range(u: UOp) -> Bounds:
    # an empty loop runs no body, so any interval is right for it; (0, 0) keeps consumers simple
    size = u.src[0]
    last = max(int(size.vmax) - 1, 0)
    # a loop of zero or one iterations must not become a constant: what reads it would move out of
    # the loop and run always
    return 0, max(last, 1) if size.vmin <= 0 and size.const_value is None else last


def _maximum(u: UOp) -> Bounds:
    a, b = u.src
    if is_float_dtype(u.dtype) and UNKNOWN_FLOAT in ((a.vmin, a.vmax), (b.vmin, b.vmax)):
        # NaN propagates through max
        return UNKNOWN_FLOAT
    return max(a.vmin, b.vmin), max(a.vmax, b.vmax)


def _less(u: UOp) -> Bounds:
    a, b = u.src
    if a.vmax < b.vmin:
        return TRUE
    # holds with NaN too: an unknown a reaches -inf, and nothing is below -inf
    if a.vmin >= b.vmax:
        return FALSE
    return UNKNOWN_BOOL


def _not_equal(u: UOp) -> Bounds:
    a, b = u.src
    if a.vmax < b.vmin or b.vmax < a.vmin:
        return TRUE
    if a.vmin == a.vmax == b.vmin == b.vmax:
        return FALSE
    return UNKNOWN_BOOL


def _equal(u: UOp) -> Bounds:
    low, high = _not_equal(u)
    return not high, not low


def _narrow(value: UOp, cond: UOp) -> Bounds:
    """Bound an integer `value` where `cond`, a comparison of that very value, holds."""
    low, high = value.vmin, value.vmax
    if cond.op is Ops.CMPLT and not is_float_dtype(cond.src[0].dtype):
        if cond.src[0] is value:
            high = min(high, cond.src[1].vmax - 1)
        elif cond.src[1] is value:
            low = max(low, cond.src[0].vmin + 1)
    # a contradiction means that the branch is never taken
    return (low, high) if low <= high else (value.vmin, value.vmax)


def _where(u: UOp) -> Bounds:
    cond, a, b = u.src
    if b.op is Ops.CONST and b.arg is Invalid:
        return _narrow(a, cond)
    if a.op is Ops.CONST and a.arg is Invalid:
        return b.vmin, b.vmax
    if cond.vmin:
        return a.vmin, a.vmax
    if not cond.vmax:
        return b.vmin, b.vmax
    low, high = _narrow(a, cond)
    return min(low, b.vmin), max(high, b.vmax)


def _float_to_int(source: UOp, dtype: DType) -> Bounds:
    low, high = source.vmin, source.vmax
    whole = dtype_bounds(dtype)
    if math.isinf(low) or math.isinf(high):
        return whole
    low, high = int(low), int(high)
    if whole[0] <= low and high <= whole[1]:
        return low, high
    # Devices wrap what is out of range. A variable is no value that a device converts: no program
    # takes a float one (`UOp.bind`), so of its interval the part that fits is meant.
    stated = source.op is Ops.PARAM and dtype.kind == "int" and dtype.bits >= 32
    if not stated or high < whole[0] or low > whole[1]:
        return whole
    return max(low, whole[0]), min(high, whole[1])


def _cast(u: UOp) -> Bounds:
    source = u.src[0]
    dtype = u.dtype
    low, high = source.vmin, source.vmax
    if dtype is dtypes.bool:
        if source.dtype is dtypes.bool:
            return low, high
        if low > 0 or high < 0:
            return TRUE
        return FALSE if low == high == 0 else UNKNOWN_BOOL
    if is_float_dtype(dtype):
        if dtype is dtypes.weakfloat and not is_float_dtype(source.dtype):
            return int(low), int(high)
        return round_float(low, high, dtype)
    if is_float_dtype(source.dtype):
        return _float_to_int(source, dtype)
    return fit(int(low), int(high), dtype)


def _bitcast(u: UOp) -> Bounds:
    source = u.src[0]
    from_dtype, to_dtype = source.dtype, u.dtype
    if from_dtype is to_dtype:
        return source.vmin, source.vmax
    if (
        not (dtypes.is_int(from_dtype) and dtypes.is_int(to_dtype))
        or from_dtype.bits != to_dtype.bits
    ):
        return dtype_bounds(u.dtype)
    low, high = int(source.vmin), int(source.vmax)
    whole = dtype_bounds(to_dtype)
    if whole[0] <= low and high <= whole[1]:
        return low, high
    wrap = 1 << to_dtype.bits
    if high < 0:
        return low + wrap, high + wrap
    if low > whole[1]:
        return low - wrap, high - wrap
    return whole


def _stack(u: UOp) -> Bounds:
    if not u.src:
        return dtype_bounds(u.dtype)
    if is_float_dtype(u.dtype) and any((s.vmin, s.vmax) == UNKNOWN_FLOAT for s in u.src):
        return UNKNOWN_FLOAT
    return min(s.vmin for s in u.src), max(s.vmax for s in u.src)


def _pad(u: UOp) -> Bounds:
    source = u.src[0]
    if (source.vmin, source.vmax) == UNKNOWN_FLOAT:
        return UNKNOWN_FLOAT
    zero = False if u.dtype is dtypes.bool else 0
    return min(source.vmin, zero), max(source.vmax, zero)


def _reduce(u: UOp) -> Bounds:
    value = u.src[0]
    ranges = u.src[1:]
    if any(r.op is not Ops.RANGE for r in ranges):
        return dtype_bounds(u.dtype)
    if u.arg is Ops.MAX:
        # an empty reduction is the identity element, which no bound of the value describes
        return (
            (value.vmin, value.vmax)
            if all(r.src[0].vmin > 0 for r in ranges)
            else dtype_bounds(u.dtype)
        )
    if u.arg is not Ops.ADD or is_float_dtype(u.dtype) or u.dtype is dtypes.bool:
        return dtype_bounds(u.dtype)
    most = least = 1
    for r in ranges:
        least *= max(int(r.src[0].vmin), 0)
        most *= max(int(r.src[0].vmax), 0)
    low, high = int(value.vmin), int(value.vmax)
    return fit(min(low * least, low * most), max(high * least, high * most), u.dtype)


def _sqrt(u: UOp) -> Bounds:
    source = u.src[0]
    if source.vmin >= 0 and math.isfinite(source.vmax):
        return round_float(math.sqrt(source.vmin), math.sqrt(source.vmax), u.dtype)
    return UNKNOWN_FLOAT


def _trunc(u: UOp) -> Bounds:
    source = u.src[0]
    if not all_finite(source):
        return dtype_bounds(u.dtype)
    return type(source.vmin)(math.trunc(source.vmin)), type(source.vmax)(math.trunc(source.vmax))


_rules: dict[Ops, Callable[[UOp], Bounds]] = {
    Ops.CONST: _const,
    Ops.PARAM: _param,
    Ops.BIND: _first_source,
    Ops.RANGE: _range,
    Ops.SPECIAL: _range,
    Ops.ADD: add_bounds,
    Ops.SUB: sub_bounds,
    Ops.MUL: mul_bounds,
    Ops.MULACC: mulacc_bounds,
    Ops.FLOORDIV: floor_div_bounds,
    Ops.FLOORMOD: floor_mod_bounds,
    Ops.CDIV: trunc_div_bounds,
    Ops.CMOD: trunc_mod_bounds,
    Ops.SHL: shift_left_bounds,
    Ops.SHR: shift_right_bounds,
    Ops.AND: and_bounds,
    Ops.OR: or_bounds,
    Ops.XOR: xor_bounds,
    Ops.MAX: _maximum,
    Ops.CMPLT: _less,
    Ops.CMPNE: _not_equal,
    Ops.CMPEQ: _equal,
    Ops.WHERE: _where,
    Ops.CAST: _cast,
    Ops.BITCAST: _bitcast,
    Ops.STACK: _stack,
    # a lane of a vector has the vector's bounds; storage has those of its dtype
    Ops.INDEX: _first_source,
    Ops.REDUCE: _reduce,
    Ops.SQRT: _sqrt,
    Ops.TRUNC: _trunc,
    Ops.PAD: _pad,
    Ops.RESHAPE: _first_source,
    Ops.EXPAND: _first_source,
    Ops.PERMUTE: _first_source,
    Ops.FLIP: _first_source,
    Ops.SHRINK: _first_source,
    Ops.CONTIGUOUS: _first_source,
    Ops.CONTIGUOUS_BACKWARD: _first_source,
    Ops.DETACH: _first_source,
    Ops.COPY: _first_source,
    Ops.AFTER: _first_source,
}


def bounds_of(u: UOp) -> Bounds:
    """Compute the interval that holds every value of a node.

    Args:
        u: the node; `vmin` and `vmax` of its sources are used.

    Returns:
        The pair (smallest, largest), inclusive. Loose where nothing is known, never wrong.
    """
    rule = _rules.get(u.op)
    return dtype_bounds(u.dtype) if rule is None else rule(u)
