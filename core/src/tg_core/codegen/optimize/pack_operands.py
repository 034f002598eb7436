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
* The order of additions is in the output: a block's elements one after the other, then the blocks.
  It depends on the shape and the target, not on the number of threads.
* The last block, panel loop and chunk are shorter where sizes do not divide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.apply_opts import apply_opts
from tg_core.codegen.optimize.choose_blocks import Blocks, Shape, choose_blocks
from tg_core.codegen.optimize.find_product import Operand, Product, find_product
from tg_core.codegen.optimize.split_border import Border
from tg_core.codegen.utils import constant_size, map_graph, next_range_id, substitute_open
from tg_core.dtype import dtypes
from tg_core.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_ENOUGH: Final = 128
_LEAST_WORK: Final = 1 << 15
_FEWEST_ROWS: Final = 4
_FEWEST_REDUCED: Final = 8
_LONGEST_UNIT: Final = 128
"""Reduce loops inside of the one that is divided into blocks have at most this many elements."""


@dataclass(frozen=True)
class Plan:
    """A product with the sizes of its blocks."""

    product: Product
    blocks: Blocks
    divided: int
    """Position of the reduce loop that is divided; those before it run around the blocks."""
    row_group: int
    column_group: int
    lanes: int


def _size(rng: UOp) -> int:
    size = constant_size(rng)
    assert size is not None
    return size


def _group(operand: Operand, most: int) -> int:
    """Return how many neighbours along the operand's loops lie next to each other in memory, up to
    `most`.
    """
    if not operand.contiguous:
        return 1
    return math.gcd(operand.last, most)


def plan_packing(sink: UOp, renderer: Renderer) -> Plan | None:
    """Return how to pack a kernel's operands; None where it is no product, or too small for it.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target; `shared_bytes` is the scratch memory of one thread.
    """
    if not renderer.has_threads or not renderer.vector_bytes or not renderer.shared_bytes:
        return None
    product = find_product(sink, _ENOUGH)
    if product is None:
        return None
    dtype = product.reduction.dtype
    if dtype not in renderer.native_dtypes or dtypes.is_weak(dtype):
        return None
    lanes = renderer.vector_bytes // dtype.itemsize
    sizes = [_size(r) for r in product.reduced]
    divided = 0
    while math.prod(sizes[divided + 1 :]) > _LONGEST_UNIT:
        divided += 1
    unit = math.prod(sizes[divided + 1 :])
    rows, columns, depth = product.rows.size, product.columns.size, math.prod(sizes)
    batch = math.prod(_size(r) for r in product.batch)
    if min(rows, columns) < _FEWEST_ROWS or depth < _FEWEST_REDUCED or columns < lanes // 2:
        return None
    if batch * rows * columns * depth < _LEAST_WORK:
        return None
    shape = Shape(
        batch=batch,
        rows=rows,
        columns=columns,
        depth=depth,
        itemsize=dtype.itemsize,
        lanes=lanes,
        registers=renderer.registers,
        row_group=1,
        column_group=_group(product.columns, lanes),
    )
    blocks = choose_blocks(shape, unit, sizes[divided], renderer.shared_bytes)
    if blocks is None:
        return None
    row_group = _group(product.rows, blocks.tile_rows)
    column_group = _group(product.columns, blocks.tile_columns)
    return Plan(product, blocks, divided, row_group, column_group, lanes)


def least(left: UOp, right: UOp) -> UOp:
    """Return the lesser of two indices, written so that its bounds are seen."""
    return UOp(Ops.MAX, (left * -1, right * -1)) * -1


class _Side:
    """One operand's blocks: its grid index, its panels, and how packing walks its loops."""

    def __init__(self, operand: Operand, block: int, tile: int, group: int) -> None:
        self.operand, self.block, self.tile, self.group = operand, block, tile, group
        self.chunks = math.ceil(operand.size / block)
        self.grid: UOp = UOp.const(0)

    def panels(self) -> UOp:
        """Return how many panels the chunk has."""
        total = math.ceil(self.operand.size / self.tile)
        most = self.block // self.tile
        if total % most == 0:
            return UOp.const(most)
        return least(UOp.const(most), UOp.const(total) - self.grid * most)

    def extent(self) -> UOp:
        """Return how many rows or columns the chunk has."""
        size = self.operand.size
        if size % self.block == 0:
            return UOp.const(self.block)
        if self.chunks == 1:
            return UOp.const(size)
        return least(UOp.const(self.block), UOp.const(size) - self.grid * self.block)

    def places(self, group: UOp, lane: UOp) -> dict[UOp, UOp]:
        """Return the values of the operand's loops at a group of neighbours of the chunk.

        Args:
            group: number of the group in the chunk.
            lane: position in the group.
        """
        width = self.group
        position = self.grid * (self.block // width) + group
        if self.operand.size % self.tile:
            position = least(position, UOp.const(self.operand.size // width - 1))
        return self._split(position, lane, width)

    def place(self, position: UOp) -> dict[UOp, UOp]:
        """Return the values of the operand's loops at one position of the chunk."""
        return self._split(self.grid * self.block + position, UOp.const(0), 1)

    def _split(self, position: UOp, lane: UOp, width: int) -> dict[UOp, UOp]:
        found: dict[UOp, UOp] = {}
        for rng in reversed(self.operand.ranges):
            size = _size(rng) // width
            inner = position
            if rng is not self.operand.ranges[0]:
                inner, position = position % size, position // size
            found[rng] = inner * width + lane if width > 1 else inner
            width = 1
        return found


class _Packer:
    """Builds the blocks of one kernel."""

    def __init__(self, sink: UOp, plan: Plan) -> None:
        self.plan = plan
        self.next_id = next_range_id(sink)
        product, blocks = plan.product, plan.blocks
        self.dtype = product.reduction.dtype
        self.rows = _Side(product.rows, blocks.rows, blocks.tile_rows, plan.row_group)
        self.columns = _Side(
            product.columns, blocks.columns, blocks.tile_columns, plan.column_group
        )
        self.depth = blocks.depth
        self.unit = math.prod(_size(r) for r in product.reduced[plan.divided + 1 :])

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

    def reduction_blocks(self) -> tuple[dict[UOp, UOp], list[UOp], UOp, UOp]:
        """Divide the reduction; return the values of the outer loops, the loops over blocks, and
        first value and number of values of the divided loop in a block.
        """
        product = self.plan.product
        outer = {r: self.loop(r.src[0]) for r in product.reduced[: self.plan.divided]}
        size, length = _size(product.reduced[self.plan.divided]), self.depth // self.unit
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

    def pack(
        self, side: _Side, slot: int, given: dict[UOp, UOp], start: UOp, count: UOp
    ) -> tuple[UOp, UOp]:
        """Return the scratch memory of an operand, and the loops that fill it."""
        product = self.plan.product
        scratch = UOp.local(side.block * self.depth, self.dtype, slot)
        panel = self.loop(side.panels())
        groups, width = side.tile // side.group, side.group
        inner = self.loop(count)
        loops = [panel, inner]
        values = {**given, product.reduced[self.plan.divided]: start + inner}
        step = inner
        for rng in product.reduced[self.plan.divided + 1 :]:
            own = self.loop(rng.src[0])
            loops.append(own)
            values[rng] = own
            step = step * _size(rng) + own
        group, lane = UOp.const(0), UOp.const(0)
        if groups > 1:
            group = self.loop(groups, AxisType.UPCAST)
            loops.append(group)
        if width > 1:
            lane = self.loop(width, AxisType.VECTOR)
            loops.append(lane)
        values.update(side.places(panel * groups + group, lane))
        position = (panel * self.depth + step) * side.tile + group * width + lane
        value = substitute_open(side.operand.value, values)
        return scratch, scratch.index(position).store(value).end(*loops)

    def multiply(
        self, a: UOp, b: UOp, c: UOp, count: UOp, loops: list[UOp], filled: UOp | None
    ) -> UOp:
        """Return the loops over tiles, inside of the loops over blocks."""
        rows, columns = self.rows, self.columns
        right = self.loop(columns.panels())
        left = self.loop(rows.panels())
        height = self.loop(rows.tile, AxisType.UPCAST)
        vector = self.loop(columns.tile // self.plan.lanes, AxisType.UPCAST)
        lane = self.loop(self.plan.lanes, AxisType.VECTOR)
        step = self.loop(count * self.unit, AxisType.REDUCE)
        column = vector * self.plan.lanes + lane
        one = a.index((left * self.depth + step) * rows.tile + height).load()
        other = b.index((right * self.depth + step) * columns.tile + column).load()
        total = UOp(Ops.REDUCE, (UOp(Ops.MUL, (one, other)), step), Ops.ADD)
        position = (left * rows.tile + height) * columns.block + right * columns.tile + column
        if filled is not None:
            # the sum first: the block of results is read when the registers are free again;
            # after the loops, so that no round reads before the one that precedes it
            total = UOp(Ops.ADD, (total, c.after(filled, *loops).index(position).load()))
        tiles = c.index(position).store(total).end(right, left, height, vector, lane)
        return tiles.end(*loops) if loops else tiles

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
        outer, loops, start, count = self.reduction_blocks()
        given = {**batch, **outer}
        a, filled_a = self.pack(self.rows, 0, given, start, count)
        b, filled_b = self.pack(self.columns, 1, given, start, count)
        c = UOp.local(self.rows.block * self.columns.block, self.dtype, 2)
        filled = self.clear(c) if loops else None
        done = self.multiply(a.after(filled_a), b.after(filled_b), c, count, loops, filled)
        row, column = self.loop(self.rows.extent()), self.loop(self.columns.extent())
        result = c.after(done).index(row * self.columns.block + column).load()
        values = {**batch, **self.rows.place(row), **self.columns.place(column)}

        def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
            if node is product.reduction:
                return result
            return node if src == node.src else UOp(node.op, src, node.arg, node.tag)

        body = substitute_open(map_graph(product.end.src[0], visit), values)
        stored = body.end(*grid, row, column, *product.rest)
        effects, wide = [stored], [column] if self.columns.operand.size >= self.plan.lanes else []
        if border is not None:
            effect, last = self.around(border, grid)
            effects.append(effect)
            wide.extend([last] if _size(last) >= self.plan.lanes else [])
        packed = UOp(Ops.SINK, tuple(effects), sink.arg, sink.tag)
        packed = graph_rewrite(packed, symbolic, name="pack operands")
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
            chunk, chunks = chunk * _size(rng) + rng, chunks * _size(rng)
        values = dict(loops)
        if len(border.loops) > 1:
            size = _size(outermost)
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
