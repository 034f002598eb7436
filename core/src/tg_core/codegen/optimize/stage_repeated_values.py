"""Compute once what a reduction and the output both need.

Input: a kernel SINK where a value is reduced over a loop, and computed again for the output along a
loop of the same size: the exponentials of a softmax. Output: the value is computed into scratch
memory of the thread (LOCAL) first, and both read it there:

    for j: out[j] = f(j) / REDUCE(f(r), r)
    ->  for s: scratch[s] = f(s)   then   for j: out[j] = scratch[j] / REDUCE(scratch[r], r)

Only what costs more than a pass through the first caches is worth it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.analyze_kernel import weight_of
from tg_core.codegen.optimize.api import OptKind
from tg_core.codegen.utils import (
    closed_ranges,
    constant_size,
    map_graph,
    next_range_id,
    substitute_open,
    with_sources,
)
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.codegen.optimize.api import Opt
    from tg_core.renderer import Renderer

_LEAST_WEIGHT: Final = 10
"""Weight of a value, in additions, from which reading it back is cheaper."""
_MOST_BYTES: Final = 1 << 16


def _repeated(reduction: UOp, end: UOp, present: set[UOp]) -> tuple[UOp, UOp] | None:
    """Return the output's loop, and the reduced value along it, where the kernel has that node."""
    (rng,) = closed_ranges(reduction)
    for loop in closed_ranges(end):
        if constant_size(loop) != constant_size(rng) or loop in reduction.ranges:
            continue
        value = substitute_open(reduction.src[0], {rng: loop})
        if value in present:
            return loop, value
    return None


def _weight(value: UOp) -> int:
    """Return the weight of what one element costs, without reductions inside."""
    seen: set[UOp] = set()
    work, total = [value], 0
    while work:
        node = work.pop()
        if node in seen or node.op is Ops.REDUCE:
            continue
        seen.add(node)
        if node.op is not Ops.INDEX:
            total += weight_of(node)
            work.extend(node.src)
    return total


def stage_repeated_values(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with such a value in scratch memory, the kernel itself without one.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target; `shared_bytes` is the scratch memory of one thread.
    """
    if not renderer.has_threads or not renderer.vector_bytes or not renderer.shared_bytes:
        return sink
    if len(sink.src) != 1 or sink.src[0].op is not Ops.END:
        return sink
    nodes = sink.toposort()
    end, present = sink.src[0], set(nodes)
    for reduction in nodes:
        if reduction.op is not Ops.REDUCE or len(closed_ranges(reduction)) != 1:
            continue
        (rng,), value = closed_ranges(reduction), reduction.src[0]
        size, dtype = constant_size(rng), value.dtype
        if size is None or dtypes.is_weak(dtype) or dtype not in renderer.native_dtypes:
            continue
        if size * dtype.itemsize > min(_MOST_BYTES, renderer.shared_bytes):
            continue
        found = _repeated(reduction, end, present) if _weight(value) >= _LEAST_WEIGHT else None
        if found is not None:
            return _staged(sink, reduction, found[0], found[1], size)
    return sink


def divides_scratch(sink: UOp, opts: tuple[Opt, ...]) -> bool:
    """Tell whether options make lanes or copies of a loop around scratch memory: all of them would
    share the memory, so the value cannot be staged.

    Args:
        sink: a kernel with staged values.
        opts: what would be applied to it.
    """
    around = {
        rng.arg[:-1]
        for node in sink.toposort()
        if node.op is Ops.END and node not in sink.src
        for rng in node.ranges
    }
    return any(o.kind in (OptKind.VECTOR, OptKind.UPCAST) and o.axis in around for o in opts)


def _staged(sink: UOp, reduction: UOp, loop: UOp, repeated: UOp, size: int) -> UOp:
    (rng,) = closed_ranges(reduction)
    step = UOp(Ops.RANGE, rng.src, (next_range_id(sink), *loop.arg[1:]))
    scratch = UOp.local(size, repeated.dtype, 0)
    value = substitute_open(reduction.src[0], {rng: step})
    filled = scratch.after(scratch.index(step).store(value).end(step))
    reduced = filled.index(rng).load().reduce(reduction.arg, rng)

    def visit(node: UOp, src: tuple[UOp, ...]) -> UOp:
        if node is reduction:
            return reduced
        return filled.index(loop).load() if node is repeated else with_sources(node, src)

    return map_graph(sink, visit)
