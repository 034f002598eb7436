"""Copy what a reduction reads again and again into a private array first.

Input: a kernel SINK with a reduction whose output ranges are divided into lanes, copies and loops.
    Output: the part of the
reduced value that moves along the lanes but is the same for all copies, and for the loops over
them, is computed once, into contiguous storage (LOCAL), in a loop before them; the reduction reads
it from there. The loops that repeat it go inside:

    for i: for j: REDUCE(a[i, k] * b[k, j..])
    ->  for j: { for k: panel[k] = b[k, j..] } for i: REDUCE(a[i, k] * panel[k])

Rows of `b` far apart cost a cache line and a page each, for every tile; the panel is read in order.
"""

from __future__ import annotations

import math

from tg_core.codegen.utils import (
    axis_type,
    closed_ranges,
    constant_size,
    next_range_id,
    substitute_open,
    with_sources,
)
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp


def _find_reduction(sink: UOp, axis: tuple[int, ...]) -> UOp:
    for node in sink.toposort():
        if node.op is Ops.REDUCE and any(r.arg[:-1] == axis for r in closed_ranges(node)):
            return node
    raise CompileError(f"stage operands: no reduction over range {axis}")


def _operand(value: UOp, lanes: UOp, own: tuple[UOp, ...]) -> UOp | None:
    """Return the largest part of the value that moves along the lanes and is the same for all
    copies.
    """
    work = [value]
    seen: set[UOp] = set()
    while work:
        node = work.pop()
        if node in seen or lanes not in node.ranges or node.op in (Ops.REDUCE, Ops.INDEX):
            continue
        seen.add(node)
        copied = any(axis_type(r) is AxisType.UPCAST for r in node.ranges)
        if not copied and any(r in node.ranges for r in own):
            return node
        work.extend(node.src)
    return None


def stage_operands(sink: UOp, axis: tuple[int, ...]) -> UOp:
    """Return the kernel with an operand of a reduction staged.

    Args:
        sink: a kernel after its ranges were divided.
        axis: ids of a range of the reduction.

    Raises:
        CompileError: the reduction is not of that form.
    """
    reduction = _find_reduction(sink, axis)
    own = closed_ranges(reduction)
    vectors = [r for r in reduction.ranges if axis_type(r) is AxisType.VECTOR]
    operand = _operand(reduction.src[0], vectors[0], own) if len(vectors) == 1 else None
    sizes = [constant_size(r) for r in (*own, *vectors)]
    if operand is None or None in sizes:
        raise CompileError(f"stage operands: nothing to stage in the reduction over {axis}")
    used = tuple(r for r in own if r in operand.ranges)
    outer = tuple(r for r in operand.ranges if r not in own and r is not vectors[0])
    fresh = next_range_id(sink)
    copies: dict[UOp, UOp] = {}
    for offset, rng in enumerate((*used, vectors[0])):
        kind = AxisType.VECTOR if rng is vectors[0] else AxisType.LOOP
        copies[rng] = UOp(Ops.RANGE, rng.src, (fresh + offset, kind))
    place = UOp.const(0)
    for rng in (*used, vectors[0]):
        place = place * (constant_size(rng) or 1) + rng
    count = math.prod(constant_size(r) or 1 for r in (*used, vectors[0]))
    storage = UOp.local(count, operand.dtype, 0)
    filled = (
        storage.after(*outer)
        .index(substitute_open(place, copies))
        .store(substitute_open(operand, copies))
        .end(*copies.values())
    )
    panel = storage.after(filled).index(place).load()
    return _repeat_inside(sink.substitute({operand: panel}), set(outer))


def _repeat_inside(sink: UOp, fixed: set[UOp]) -> UOp:
    """Reorder the loops of the outputs: those the staged operand depends on go outside of the
    others.
    """
    effects: list[UOp] = []
    for effect in sink.src:
        loops = closed_ranges(effect) if effect.op is Ops.END else ()
        if any(r in fixed for r in loops):
            grid = [r for r in loops if axis_type(r) is AxisType.GLOBAL]
            outside = [r for r in loops if r in fixed and r not in grid]
            inside = [r for r in loops if r not in fixed and r not in grid]
            effect = with_sources(effect, (effect.src[0], *grid, *outside, *inside))
        effects.append(effect)
    return with_sources(sink, tuple(effects))
