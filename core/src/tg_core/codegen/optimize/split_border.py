"""Separate the border of a padded output from what is computed inside of it.

Input: a kernel SINK that stores `WHERE(inside, value, fill)`, where `inside` bounds output loops by
constants and `value` reduces. Output: the kernel of the inside alone, with shorter loops and no
mask, and the store of the fill outside:

    for y < 16: out[y] = WHERE(0 < y & y < 15, value(y), 0)
    ->  for y < 14: out[y + 1] = value(y + 1)   and   for y < 16: out[y] = 0 unless 0 < y & y < 15

A convolution whose result the next one reads with padding is of this form: inside, its loads need
no mask, and it is a product.
"""

from __future__ import annotations

from dataclasses import dataclass

from tg_core.codegen.utils import closed_ranges, constant_size, replace_ranges, split_mask
from tg_core.dtype import Invalid
from tg_core.uop.ops import Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic_full


@dataclass(frozen=True)
class Border:
    """The store outside, and the loops it is inside of."""

    store: UOp
    """A STORE whose index is masked where the value is computed."""
    loops: tuple[UOp, ...]
    """Output loops of the whole."""


def _bounds(mask: UOp, loops: tuple[UOp, ...]) -> dict[UOp, tuple[int, int]] | None:
    """Return first and one past the last value of each loop that a mask bounds, None where it is
    of another form.
    """
    found: dict[UOp, tuple[int, int]] = {}
    work = [mask]
    while work:
        node = work.pop()
        if node.op is Ops.AND:
            work.extend(node.src)
            continue
        if node.op is not Ops.CMPLT:
            return None
        left, right = node.src
        rng, limit = (left, right.const_value) if left in loops else (right, left.const_value)
        size = constant_size(rng) if rng in loops else None
        if size is None or not isinstance(limit, int):
            return None
        low, high = found.get(rng, (0, size))
        found[rng] = (low, min(high, limit)) if rng is left else (max(low, limit + 1), high)
    return found if all(low < high for low, high in found.values()) else None


def split_border(sink: UOp) -> tuple[UOp, Border] | None:
    """Return the kernel of the inside and what is left, None for any other kernel.

    Args:
        sink: a kernel whose ranges each belong to one loop.
    """
    if (
        len(sink.src) != 1
        or sink.src[0].op is not Ops.END
        or sink.src[0].src[0].op is not Ops.STORE
    ):
        return None
    end = sink.src[0]
    store, loops = end.src[0], closed_ranges(end)
    target, chosen = store.src[:2]
    if (
        len(store.src) != 2
        or chosen.op is not Ops.WHERE
        or split_mask(target.src[1])[0] is not None
    ):
        return None
    inside, value, fill = chosen.src
    if any(n.op is Ops.REDUCE for n in fill.toposort()) or not any(
        n.op is Ops.REDUCE for n in value.toposort()
    ):
        return None
    bounds = _bounds(inside, loops)
    if not bounds:
        return None
    mapping: dict[UOp, tuple[UOp, tuple[UOp, ...]]] = {}
    for rng, (low, high) in bounds.items():
        shorter = UOp(Ops.RANGE, (UOp.const(high - low),), rng.arg)
        mapping[rng] = (shorter + low, (shorter,))
    inner = UOp(Ops.STORE, (target, value)).end(*loops)
    kernel = replace_ranges(UOp(Ops.SINK, (inner,), sink.arg, sink.tag), mapping)
    kernel = graph_rewrite(kernel, symbolic_full, name="split border")
    masked = UOp(Ops.WHERE, (inside, UOp.const(Invalid), target.src[1]))
    outside = UOp(Ops.INDEX, (target.src[0], masked), target.arg)
    return kernel, Border(UOp(Ops.STORE, (outside, fill)), loops)
