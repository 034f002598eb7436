"""Share reductions among the work items of a group.

Input: a kernel SINK after `expand_copies`, with GROUP_REDUCE ranges among those a REDUCE closes.
    Output: no REDUCE closes
one. Each work item reduces its part, writes the result to LOCAL storage, waits for the others at a
BARRIER, and every one of them combines the parts in the order of the range:

    REDUCE(v, r..., g)
      ->  REDUCE(LOAD(AFTER(local, BARRIER(STORE(local[g], REDUCE(v, r...))))[r']), r')

The range `g` stays, as an index of work items that `lower_grid_to_special` names; stores to device
memory are left to the work item with `g == 0`. Inside of a loop, a second BARRIER keeps the next
round from overwriting what others still read.
"""

from __future__ import annotations

from tg_core.codegen.utils import (
    axis_type,
    closed_ranges,
    constant_size,
    map_graph,
    next_range_id,
    with_sources,
)
from tg_core.errors import CompileError
from tg_core.uop.ops import AddrSpace, AxisType, Ops, UOp


class _Sharing:
    """Rebuilds the kernel; LOCAL storage and ranges are numbered as they are made."""

    def __init__(self, sink: UOp) -> None:
        self.next_id = next_range_id(sink)
        self.next_slot = 0
        self.groups: dict[UOp, None] = {}

    def visit(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """Rebuild one node."""
        if node.op is Ops.REDUCE:
            groups = [r for r in src[1:] if axis_type(r) is AxisType.GROUP_REDUCE]
            if groups:
                return self._share(node, src, groups)
        if node.op is Ops.STORE and self.groups and _base(src[0]).arg.addrspace is AddrSpace.GLOBAL:
            return self._gate(node, src)
        return with_sources(node, src)

    def _share(self, node: UOp, src: tuple[UOp, ...], groups: list[UOp]) -> UOp:
        if len(groups) > 1:
            raise CompileError("group reduce: a reduction has two ranges of work items")
        group = groups[0]
        size = constant_size(group)
        if size is None:
            raise CompileError(f"group reduce: range {group.arg} needs a constant size")
        self.groups[group] = None
        kept = tuple(r for r in src[1:] if r is not group)
        partial = UOp(Ops.REDUCE, (src[0], *kept), node.arg) if kept else src[0]
        outer = [r for r in partial.ranges if r is not group]
        items = [r for r in outer if axis_type(r) is AxisType.LOCAL]
        loops = [r for r in outer if axis_type(r) not in (AxisType.LOCAL, AxisType.GLOBAL)]
        first, count = UOp.const(0), 1
        for item in items:
            length = constant_size(item)
            if length is None:
                raise CompileError(f"group reduce: range {item.arg} needs a constant size")
            first, count = first * length + item, count * length
        storage = UOp.local(count * size, node.dtype, self.next_slot)
        self.next_slot += 1
        ready = storage
        if loops:
            ready = storage.after(UOp(Ops.BARRIER, tuple(loops)))
        written = ready.index(first * size + group).store(partial)
        together = storage.after(UOp(Ops.BARRIER, (written,)))
        part = UOp.range(size, self.next_id, AxisType.REDUCE)
        self.next_id += 1
        return together.index(first * size + part).load().reduce(node.arg, part)

    def _gate(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        gate = src[2] if len(src) > 2 else None
        for group in self.groups:
            if group in src[0].ranges:
                continue
            one = UOp(Ops.CMPLT, (group, UOp.const(1)))
            gate = one if gate is None else UOp(Ops.AND, (gate, one))
        return UOp(Ops.STORE, src[:2] if gate is None else (*src[:2], gate), node.arg, node.tag)


def _base(place: UOp) -> UOp:
    while place.op in (Ops.INDEX, Ops.AFTER):
        place = place.src[0]
    return place


def lower_group_reduce(sink: UOp) -> UOp:
    """Return the kernel with shared reductions written out.

    Args:
        sink: a kernel after `expand_copies`.

    Raises:
        CompileError: a reduction has two such ranges, or one has no constant size.
    """
    shared = any(
        axis_type(r) is AxisType.GROUP_REDUCE
        for node in sink.toposort()
        if node.op is Ops.REDUCE
        for r in closed_ranges(node)
    )
    return map_graph(sink, _Sharing(sink).visit) if shared else sink
