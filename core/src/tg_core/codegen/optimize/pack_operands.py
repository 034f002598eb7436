"""Multiply out of packed copies of the operands.

Input: a kernel SINK that `find_product` recognises. Output: the same kernel as blocks. A chunk of
rows and columns is one grid index; in it, with scratch memory of its own (LOCAL buffers `a`, `b`
and `c`):

    c = 0
    for every block of the reduction:
        b = the columns' operand of the block, in panels as wide as the register tile
        a = the rows' operand of the block, in panels as high as the register tile
        for every panel of b, for every panel of a:
            tile of c = REDUCE(a * b over the block) + tile of c
    store what the kernel makes of c

* Every element of a panel is next to the one that is read after it, whatever strides, windows and
  conversions the operand has: they are paid once per chunk. An element past the last row or column
  repeats the last one, and what is computed from it is never stored.
* Rows whose elements lie in memory in the order of the reduction are read where they are: weights
  of a convolution, the left factor of a product.
* The order of additions is in the output: a block's elements one after the other, then the blocks.
  It depends on the shape and the target, not on the number of threads.
* The last block, panel loop and chunk are shorter where sizes do not divide.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.apply_opts import apply_opts
from tg_core.codegen.optimize.packed_side import Side, least
from tg_core.codegen.utils import (
    known_size,
    map_graph,
    next_range_id,
    substitute_open,
    with_sources,
)
from tg_core.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic

if TYPE_CHECKING:
    from tg_core.codegen.optimize.plan_packing import Plan, Steps
    from tg_core.codegen.optimize.split_border import Border

_COPIED_STEPS: Final = 8
"""Steps of a window that packing moves at once."""
_LONE_STEPS: Final = 4
"""Steps that packing moves at once where each is one element."""
_CROSSWISE_BYTES: Final = 16
"""Bytes of the steps that are loaded at once: shuffles stay inside of pieces of this size."""
_CROSSWISE_ROWS: Final = 4
"""Rows that are stored crosswise at once at most: more take less time, but more code."""


class _Packer:
    """Builds the blocks of one kernel."""

    def __init__(self, sink: UOp, plan: Plan) -> None:
        self.plan = plan
        self.next_id = next_range_id(sink)
        self.next_slot = 0
        product, blocks = plan.product, plan.blocks
        self.dtype = product.terms[0].reduction.dtype
        self.rows = Side(product.rows, blocks.rows, blocks.tile_rows, plan.lanes)
        self.columns = Side(product.columns, blocks.columns, blocks.tile_columns, plan.lanes)

    def scratch(self, size: int) -> UOp:
        """Return new scratch memory."""
        self.next_slot += 1
        return UOp.local(size, self.dtype, self.next_slot - 1)

    def loop(self, size: UOp | int, kind: AxisType = AxisType.LOOP) -> UOp:
        """Return a new RANGE."""
        self.next_id += 1
        return UOp.range(size, self.next_id - 1, kind)

    def grid(self) -> tuple[dict[UOp, UOp], list[UOp]]:
        """Name the chunk; return the values of the batch loops, and all grid ranges."""
        batch = {r: self.loop(r.src[0], AxisType.GLOBAL) for r in self.plan.product.batch}
        ranges = list(batch.values())
        for side in (self.rows, self.columns):
            if side.chunks > 1:
                side.grid = self.loop(side.chunks, AxisType.GLOBAL)
                ranges.append(side.grid)
        return batch, ranges

    def reduction_blocks(self, steps: Steps) -> tuple[dict[UOp, UOp], list[UOp], UOp, UOp]:
        """Divide a reduction; return the values of the outer loops, the loops over blocks, and
        first value and number of values of the divided loop in a block.
        """
        reduced = steps.term.reduced
        outer = {r: self.loop(r.src[0]) for r in reduced[: steps.divided]}
        size, length = known_size(reduced[steps.divided]), steps.depth // steps.unit
        count = math.ceil(size / length)
        loops = list(outer.values())
        if count == 1:
            return outer, loops, UOp.const(0), UOp.const(size)
        block = self.loop(count)
        start = block * length
        left = UOp.const(length)
        if size % length:
            left = least(left, UOp.const(size) - start)
        return outer, [*loops, block], start, left

    def pack(self, side: Side, steps: Steps, given: dict[UOp, UOp], start: UOp, count: UOp) -> UOp:
        """Return the scratch memory of an operand, once the loops before have filled it."""
        reduced = steps.term.reduced
        scratch = self.scratch(side.block * steps.depth)
        if side.lies_along(steps):
            return self.pack_crosswise(scratch, side, steps, given, start, count)
        panel = self.loop(side.panels())
        groups, width = side.tile // side.group, side.group
        # a piece of a row is read at once, and goes to all panels
        in_pieces = side.in_pieces and steps.unit == 1
        loops, group, lane = [] if in_pieces else [panel], UOp.const(0), UOp.const(0)
        most = side.groups_at_once(steps)
        if groups > most:
            group = self.loop(groups)
            loops.append(group)
        few = 1
        if groups > most and steps.unit == 1:
            # a lone element takes less than what a round of its loop does
            few = math.gcd(known_size(reduced[steps.divided]), steps.depth, _LONE_STEPS)
        inner: UOp = self.loop(count // few if few > 1 else count)
        loops.append(inner)
        if few > 1:
            copy = self.loop(few, AxisType.UPCAST)
            loops.append(copy)
            inner = inner * few + copy
        values = {**given, reduced[steps.divided]: start + inner}
        step = inner
        for rng in reduced[steps.divided + 1 :]:
            short = rng is reduced[-1] and known_size(rng) <= _COPIED_STEPS
            own = self.loop(rng.src[0], AxisType.UPCAST if short else AxisType.LOOP)
            loops.append(own)
            values[rng] = own
            step = step * known_size(rng) + own
        if in_pieces:
            loops.append(panel)
        if 1 < groups <= most:
            group = self.loop(groups, AxisType.UPCAST)
            loops.append(group)
        if width > 1:
            lane = self.loop(width, AxisType.VECTOR)
            loops.append(lane)
        values.update(side.places(panel * groups + group, lane))
        position = (panel * steps.depth + step) * side.tile + group * width + lane
        value = substitute_open(side.value(), values)
        return scratch.after(scratch.index(position).store(value).end(*loops))

    def pack_crosswise(
        self, scratch: UOp, side: Side, steps: Steps, given: dict[UOp, UOp], start: UOp, count: UOp
    ) -> UOp:
        """Pack an operand that is contiguous along the reduction: a few steps are loaded at once
        and stored crosswise, see `transpose_lanes`.
        """
        divided = steps.term.reduced[steps.divided]
        few = max(_CROSSWISE_BYTES // self.dtype.itemsize, 1)
        whole = count // few
        parts = [(whole, few, UOp.const(0))]
        if known_size(divided) % few or steps.depth % few:
            parts.append((count - whole * few, 1, whole * few))
        effects: list[UOp] = []
        rows = math.gcd(side.tile, _CROSSWISE_ROWS)
        for rounds, lanes, first in parts:
            panel = self.loop(side.panels())
            group, copy = self.loop(side.tile // rows), self.loop(rows, AxisType.UPCAST)
            row = group * rows + copy
            step = self.loop(rounds)
            loops = [panel, group, step, copy]
            if lanes > 1:
                lane = self.loop(lanes, AxisType.VECTOR)
                loops.append(lane)
                step = step * lanes + lane
            step = first + step
            values = {**given, divided: start + step}
            values.update(side.places(panel * side.tile + row, UOp.const(0)))
            position = (panel * steps.depth + step) * side.tile + row
            value = substitute_open(side.value(), values)
            effects.append(scratch.index(position).store(value).end(*loops))
        return scratch.after(*effects)

    def read(self, steps: Steps, given: dict[UOp, UOp], start: UOp, row: UOp, step: UOp) -> UOp:
        """Return an element of the rows' operand where it is in memory."""
        reduced = steps.term.reduced
        values = {**given, **dict.fromkeys(reduced[steps.divided + 1 :], UOp.const(0))}
        values.update({reduced[steps.divided]: start, **self.rows.of(steps.term.rows).row(row)})
        place = steps.term.rows.value.src[0]
        return place.src[0].index(substitute_open(place.src[1], values) + step).load()

    def multiply(self, steps: Steps, batch: dict[UOp, UOp]) -> UOp:
        """Return the scratch memory of a term's results, once all blocks are reduced."""
        outer, loops, start, count = self.reduction_blocks(steps)
        given = {**batch, **outer}
        a = None
        if not steps.in_place:
            a = self.pack(self.rows.of(steps.term.rows), steps, given, start, count)
        b = self.pack(self.columns.of(steps.term.columns), steps, given, start, count)
        c = self.scratch(self.rows.block * self.columns.block)
        filled = self.clear(c) if loops else None
        rows, columns = self.rows, self.columns
        right = self.loop(columns.panels())
        left = self.loop(rows.panels())
        height = self.loop(rows.tile, AxisType.UPCAST)
        vector = self.loop(columns.tile // self.plan.lanes, AxisType.UPCAST)
        lane = self.loop(self.plan.lanes, AxisType.VECTOR)
        step = self.loop(count * steps.unit, AxisType.REDUCE)
        column = vector * self.plan.lanes + lane
        if a is None:
            one = self.read(steps, given, start, left * rows.tile + height, step)
        else:
            one = a.index((left * steps.depth + step) * rows.tile + height).load()
        other = b.index((right * steps.depth + step) * columns.tile + column).load()
        total = UOp(Ops.REDUCE, (UOp(Ops.MUL, (one, other)), step), Ops.ADD)
        position = (left * rows.tile + height) * columns.block + right * columns.tile + column
        if filled is not None:
            # the sum first: the block of results is read when the registers are free again;
            # after the loops, so that no round reads before the one that precedes it
            total = UOp(Ops.ADD, (total, c.after(filled, *loops).index(position).load()))
        tiles = c.index(position).store(total).end(right, left, height, vector, lane)
        return c.after(tiles.end(*loops))

    def clear(self, c: UOp) -> UOp:
        """Return the loops that set the results to zero."""
        lane = self.loop(self.plan.lanes, AxisType.VECTOR)
        row = self.loop(c.arg.size // self.plan.lanes)
        zero = UOp.const(0, self.dtype)
        return c.index(row * self.plan.lanes + lane).store(zero).end(row, lane)

    def build(self, sink: UOp, border: Border | None) -> UOp:
        """Return the kernel in blocks."""
        product = self.plan.product
        batch, grid = self.grid()
        row, column = self.loop(self.rows.extent()), self.loop(self.columns.extent())
        position = row * self.columns.block + column
        results = {
            steps.term.reduction: self.multiply(steps, batch).index(position).load()
            for steps in self.plan.steps
        }
        values = {**batch, **self.rows.place(row), **self.columns.place(column)}

        def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
            found = results.get(node)
            return with_sources(node, src) if found is None else found

        body = substitute_open(map_graph(product.end.src[0], visit), values)
        stored = body.end(*grid, row, column, *product.rest)
        effects, wide = [stored], [column] if self.columns.operand.size >= self.plan.lanes else []
        if border is not None:
            effect, last = self.around(border, grid)
            effects.append(effect)
            wide.extend([last] if known_size(last) >= self.plan.lanes else [])
        packed = UOp(Ops.SINK, tuple(effects), sink.arg, sink.tag)
        if not wide:
            return graph_rewrite(packed, symbolic, name="pack operands")
        lanes = self.plan.lanes
        return apply_opts(packed, tuple(Opt(OptKind.VECTOR, r.arg[:-1], lanes) for r in wide))

    def around(self, border: Border, grid: list[UOp]) -> tuple[UOp, UOp]:
        """Return the loops that store the border, divided among the chunks, and the innermost."""
        loops = {r: self.loop(r.src[0]) for r in border.loops}
        outermost = border.loops[0]
        # each END has ranges of its own; those of the grid become the same indices
        grid = [self.loop(rng.src[0], AxisType.GLOBAL) for rng in grid]
        chunk, chunks = UOp.const(0), 1
        for rng in grid:
            chunk, chunks = chunk * known_size(rng) + rng, chunks * known_size(rng)
        values = dict(loops)
        if len(border.loops) > 1:
            size = known_size(outermost)
            each = math.ceil(size / chunks)
            left = UOp(Ops.MAX, (UOp.const(0), UOp.const(size) - chunk * each))
            few = self.loop(least(UOp.const(each), left))
            loops[outermost], values[outermost] = few, chunk * each + few
        effect = substitute_open(border.store, values)
        return effect.end(*grid, *loops.values()), list(loops.values())[-1]


def pack_operands(sink: UOp, plan: Plan, border: Border | None = None) -> UOp:
    """Return the kernel that multiplies packed copies.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        plan: from `plan_packing`.
        border: what the kernel stores besides, from `split_border`.
    """
    return _Packer(sink, plan).build(sink, border)
