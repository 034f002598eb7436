"""Reduce far rows a few at a time.

Input: a kernel SINK whose one reduction walks over rows that lie far apart, along which its loads
are contiguous: a sum over the first axis, a product of a vector and a matrix. Output: the same
kernel with the results of a chunk of columns in scratch memory of the thread (LOCAL):

    c = identity
    for every few rows: for all columns of the chunk: c = c + their sum
    store what the kernel makes of c

Long pieces of few rows are read in order, where a loop over all rows for a few columns would touch
one or two cache lines of each. Output rows that share the loads are copies, a few at a time: others
read the pieces again, out of the first cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.apply_opts import apply_opts
from tg_core.codegen.utils import (
    closed_ranges,
    constant_size,
    identity_of,
    known_size,
    linear_form,
    map_graph,
    next_range_id,
    split_mask,
    substitute_open,
    with_sources,
)
from tg_core.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_FAR: Final = 1 << 10
"""Bytes between rows from which this pays."""
_FEWEST_COLUMNS: Final = 64
_MOST_COLUMNS: Final = 1 << 11
"""Columns of a chunk, so that its results stay in the first cache."""
_FEW_COLUMNS: Final = 1 << 9
"""The same of many output rows."""
_LEAST_WORK: Final = 1 << 15
_MOST_SHARED: Final = 16
"""Output rows that share the loads; more are worth packing."""
_COPIES: Final = (4, 3, 5, 2, 7)
"""Output rows that are computed at once."""
_FEW_COPIES: Final = 3
"""Up to this many output rows are all computed at once."""
_CHUNKS: Final = 8
_LONG_PIECE: Final = 1 << 10
"""Columns of a row from which reading fewer takes longer for each; still two cores share them."""
_AT_ONCE: Final = (8, 7, 6, 5, 4, 3)
"""Rows that are read side by side; few enough for the prefetchers."""


@dataclass(frozen=True)
class Rows:
    """A kernel that reduces rows."""

    end: UOp
    reduction: UOp
    column: UOp
    """The output loop along which the loads are contiguous."""
    shared: tuple[UOp, ...]
    """Output loops along which a contiguous load does not change."""
    outer: tuple[UOp, ...]
    """The other output loops of the reduction."""
    rest: tuple[UOp, ...]
    """Output loops that the reduction does not change with."""
    copies: int
    """How many values of the last shared loop are computed at once; of the others, all are."""
    at_once: int
    columns: int
    """Columns of one chunk."""


def _far(loads: list[UOp], column: UOp, row: UOp) -> list[UOp] | None:
    """Return the loads that are contiguous along columns with rows far apart; None where a load
    steps otherwise along the columns.
    """
    found: list[UOp] = []
    for load in loads:
        mask, index = split_mask(load.src[0].src[1])
        form = linear_form(index)
        stride = form.stride(column)
        if mask is not None or stride not in (0, 1):
            return None
        step = form.stride(row)
        if stride == 1 and step is not None and abs(step) * load.dtype.itemsize >= _FAR:
            found.append(load)
    return found


def plan_rows(sink: UOp, renderer: Renderer) -> Rows | None:
    """Return how to reduce the rows of a kernel, None where it is of another kind.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target; `shared_bytes` is the scratch memory of one thread.
    """
    if not renderer.has_threads or not renderer.vector_bytes or not renderer.shared_bytes:
        return None
    nodes = sink.toposort()
    reductions = [n for n in nodes if n.op is Ops.REDUCE]
    if len(reductions) != 1 or len(sink.src) != 1 or sink.src[0].op is not Ops.END:
        return None
    end, reduction = sink.src[0], reductions[0]
    loops, reduced = closed_ranges(end), closed_ranges(reduction)
    if any(constant_size(r) is None for r in (*loops, *reduced)):
        return None
    if any(r not in loops for r in reduction.ranges) or not reduction.ranges:
        return None
    loads = [n for n in reduction.toposort() if n.op is Ops.LOAD]
    own = [r for r in loops if r in reduction.ranges]
    column, row = own[-1], reduced[-1]
    far = _far(loads, column, row)
    at_once = next((n for n in _AT_ONCE if known_size(row) % n == 0), 0)
    if not far or not at_once or known_size(column) < _FEWEST_COLUMNS:
        return None
    fixed = tuple(r for r in own if not any(r in load.ranges for load in far))
    copies = _copies(fixed)
    if not copies:
        return None
    work = math.prod(known_size(r) for r in (*own, *reduced))
    if work < _LEAST_WORK or reduction.dtype not in renderer.native_dtypes:
        return None
    outer = tuple(r for r in own if r is not column and r not in fixed)
    rest = tuple(r for r in loops if r not in reduction.ranges)
    size, unit = known_size(column), 2 * renderer.vector_bytes // reduction.dtype.itemsize
    most = max(_MOST_COLUMNS // math.prod(known_size(r) for r in fixed), _FEW_COLUMNS)
    wanted = min(_CHUNKS, work // _LEAST_WORK, max(size // _LONG_PIECE, 2))
    parts = max(math.ceil(size / most), wanted, 1)
    columns = min(max(math.ceil(size / parts / unit) * unit, unit), size)
    return Rows(end, reduction, column, fixed, outer, rest, copies, at_once, columns)


def _copies(shared: tuple[UOp, ...]) -> int:
    """Return how many values of the last shared loop are computed at once, 0 where another way is
    better.
    """
    count = math.prod(known_size(r) for r in shared)
    if count <= _FEW_COPIES:
        return known_size(shared[-1]) if shared else 1
    if count > _MOST_SHARED or len(shared) > 1:
        return 0
    return next((n for n in _COPIES if count % n == 0), 0)


class _Accumulator:
    """Builds the loops of one kernel."""

    def __init__(self, sink: UOp, plan: Rows) -> None:
        self.plan = plan
        self.next_id = next_range_id(sink)
        size = known_size(plan.column)
        self.grid: UOp | None = None
        self.extent: UOp = UOp.const(size)
        if size > plan.columns:
            grid = self.loop(math.ceil(size / plan.columns), AxisType.GLOBAL)
            self.grid, self.extent = grid, UOp.const(plan.columns)
            if size % plan.columns:
                # min(columns, size - grid * columns), written so that its bounds are seen
                rest = grid * plan.columns - size
                self.extent = UOp(Ops.MAX, (UOp.const(-plan.columns), rest)) * -1

    def loop(self, size: UOp | int, kind: AxisType = AxisType.LOOP) -> UOp:
        """Return a new RANGE."""
        self.next_id += 1
        return UOp.range(size, self.next_id - 1, kind)

    def place(self, column: UOp) -> UOp:
        """Return the column's number in the kernel."""
        return column if self.grid is None else self.grid * self.plan.columns + column

    def cell(self, rows: dict[UOp, UOp], column: UOp) -> UOp:
        """Return the position of a result in scratch memory."""
        first = UOp.const(0)
        for rng, row in rows.items():
            first = first * known_size(rng) + row
        return first * self.plan.columns + column

    def shared(self) -> tuple[dict[UOp, UOp], list[UOp]]:
        """Return the values of the loops over output rows that share loads, and their new loops."""
        values = {r: self.loop(r.src[0], AxisType.UPCAST) for r in self.plan.shared}
        loops = list(values.values())
        if self.plan.shared and known_size(self.plan.shared[-1]) != self.plan.copies:
            last, copies = self.plan.shared[-1], self.plan.copies
            some = self.loop(known_size(last) // copies)
            loops[-1] = self.loop(copies, AxisType.UPCAST)
            values[last] = some * copies + loops[-1]
            loops.insert(0, some)
        return values, loops

    def build(self, sink: UOp, lanes: int) -> UOp:
        """Return the kernel with its results in scratch memory until all rows are reduced."""
        plan = self.plan
        op, dtype = plan.reduction.arg, plan.reduction.dtype
        count = math.prod(known_size(r) for r in plan.shared)
        scratch = UOp.local(count * plan.columns, dtype, 0)
        cell = self.loop(count * plan.columns)
        cleared = scratch.index(cell).store(UOp.const(identity_of(op, dtype), dtype)).end(cell)

        outer = {r: self.loop(r.src[0], AxisType.GLOBAL) for r in plan.outer}
        *slow, row = closed_ranges(plan.reduction)
        around = {r: self.loop(r.src[0]) for r in slow}
        few = self.loop(known_size(row) // plan.at_once)
        step = self.loop(plan.at_once, AxisType.UNROLL)
        column = self.loop(self.extent)
        shared, shared_loops = self.shared()
        values = {**outer, **around, **shared}
        values.update({row: few * plan.at_once + step, plan.column: self.place(column)})
        some = UOp(Ops.REDUCE, (substitute_open(plan.reduction.src[0], values), step), op)
        target = self.cell(shared, column)
        # ordered after the loops, so that no round reads before the one that precedes it
        running = scratch.after(cleared, *around.values(), few)
        total = UOp(op, (running.index(target).load(), some))
        stored = scratch.index(target).store(total)
        done = stored.end(*around.values(), few, *shared_loops, column)

        last = self.loop(self.extent)
        rows = {r: self.loop(r.src[0]) for r in plan.shared}
        result = scratch.after(done).index(self.cell(rows, last)).load()

        def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
            return result if node is plan.reduction else with_sources(node, src)

        values = {**outer, **rows, plan.column: self.place(last)}
        body = substitute_open(map_graph(plan.end.src[0], visit), values)
        grid = [*outer.values(), *(() if self.grid is None else (self.grid,))]
        effect = body.end(*grid, *rows.values(), last, *plan.rest)
        built = UOp(Ops.SINK, (effect,), sink.arg, sink.tag)
        built = graph_rewrite(built, symbolic, name="accumulate rows")
        wide = (cell, column, last)
        return apply_opts(built, tuple(Opt(OptKind.VECTOR, r.arg[:-1], lanes) for r in wide))


def accumulate_rows(sink: UOp, plan: Rows, renderer: Renderer) -> UOp:
    """Return the kernel that reduces a few rows at a time.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        plan: from `plan_rows`.
        renderer: the target.
    """
    lanes = 2 * renderer.vector_bytes // plan.reduction.dtype.itemsize
    return _Accumulator(sink, plan).build(sink, lanes)
