"""Divide the ranges of a kernel as a tuple of `Opt` says.

Input and output: a kernel SINK whose ranges each belong to one loop. The order in which a reduction
adds its values is in the output: divided ranges, copies and remainders are all written as ranges
and nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.optimize.api import AXIS_TYPES, Opt, OptKind
from tg_core.codegen.optimize.stage_operands import stage_operands
from tg_core.codegen.separate_reused_ranges import separate_reused_ranges
from tg_core.codegen.utils import (
    axis_type,
    closed_ranges,
    constant_size,
    map_graph,
    mask_accesses,
    next_range_id,
    replace_ranges,
    substitute_open,
    with_axis_type,
    with_sources,
)
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp, graph_rewrite
from tg_core.uop.symbolic import symbolic

if TYPE_CHECKING:
    from collections.abc import Iterable


def find_range(sink: UOp, axis: tuple[int, ...]) -> UOp:
    """Return the RANGE with these ids.

    Raises:
        CompileError: the kernel has none.
    """
    for node in sink.toposort():
        if node.op is Ops.RANGE and node.arg[:-1] == axis:
            return node
    raise CompileError(f"optimisation: the kernel has no range {axis}")


def _part_of(sink: UOp, rng: UOp, kind: AxisType, size: UOp) -> UOp:
    """Return a RANGE with fresh ids below those of the divided one."""
    used = {n.arg[:-1] for n in sink.toposort() if n.op is Ops.RANGE}
    part = 0
    while (*rng.arg[:-1], part) in used:
        part += 1
    return UOp(Ops.RANGE, (size,), (*rng.arg[:-1], part, kind))


def _remaining(rng: UOp, size: UOp) -> UOp:
    return UOp(Ops.RANGE, (size,), rng.arg)


def _chunk(sink: UOp, rng: UOp, amount: int) -> UOp:
    """Make a range a grid index of chunks; the last chunk is shorter where the amount does not
    divide the size.
    """
    size = rng.src[0]
    grid = _part_of(sink, rng, AxisType.GLOBAL, _settled((size + (amount - 1)) // amount))
    known = constant_size(rng)
    if known is not None and known % amount == 0:
        length = UOp.const(amount)
    else:
        # min(amount, size - grid * amount), written so that its bounds are seen
        length = UOp(Ops.MAX, (UOp.const(-amount), grid * amount - size)) * -1
    inner = _remaining(rng, length)
    return replace_ranges(sink, {rng: (grid * amount + inner, (grid, inner))})


def _settled(size: UOp) -> UOp:
    return UOp.const(int(size.vmax)) if size.vmin == size.vmax else size


def _divide(sink: UOp, rng: UOp, amount: int, kind: AxisType) -> UOp:
    """Split a range whose size is a multiple of the amount."""
    outer = _remaining(rng, _settled(rng.src[0] // amount))
    inner = _part_of(sink, rng, kind, UOp.const(amount))
    return replace_ranges(sink, {rng: (outer * amount + inner, (outer, inner))})


def _pad(sink: UOp, rng: UOp, amount: int) -> UOp:
    """Grow an output range; every access that depends on it is masked beyond its size."""
    size = rng.src[0]
    whole = (size + (amount - 1)) // amount * amount
    padded = UOp(Ops.RANGE, (_settled(whole),), rng.arg)
    inside = UOp(Ops.CMPLT, (rng, size))

    return mask_accesses(sink, rng, inside).substitute({rng: padded})


class _Peeler:
    """Splits a range into whole multiples of the amount and a loop over the rest."""

    def __init__(self, sink: UOp, rng: UOp, amount: int, kind: AxisType) -> None:
        self.rng = rng
        size = rng.src[0]
        whole = size // amount
        self.outer = _remaining(rng, _settled(whole))
        self.inner = _part_of(sink, rng, kind, UOp.const(amount))
        self.main = self.outer * amount + self.inner
        self.next_id = next_range_id(sink)
        rest = _settled(size - whole * amount)
        self.rest: UOp | None = None
        value = _settled(whole * amount)
        if rest.const_value != 1:
            self.rest = UOp(Ops.RANGE, (rest,), (self._fresh(), axis_type(rng)))
            value = value + self.rest
        self.clones: dict[UOp, UOp] = {rng: value}

    def _fresh(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _clone(self, ranges: Iterable[UOp]) -> tuple[UOp, ...]:
        found: list[UOp] = []
        for rng in ranges:
            if rng is self.rng:
                found.extend(() if self.rest is None else (self.rest,))
                continue
            if rng not in self.clones:
                self.clones[rng] = UOp(Ops.RANGE, rng.src, (self._fresh(), *rng.arg[1:]))
            found.append(self.clones[rng])
        return tuple(found)

    def visit(self, node: UOp, src: tuple[UOp, ...]) -> UOp:
        """Rebuild one node."""
        if node.op not in (Ops.REDUCE, Ops.END) or self.rng not in closed_ranges(node):
            return with_sources(node, src)
        body, loops = src[0], closed_ranges(node)
        at = loops.index(self.rng)
        shared = loops[:at] if node.op is Ops.END else ()
        own = loops[len(shared) :]
        position = own.index(self.rng)
        main_loops = (*own[:position], self.outer, self.inner, *own[position + 1 :])
        main_body = substitute_open(body, {self.rng: self.main})
        rest_loops = self._clone(own)
        mapping = {
            self.rng: self.clones[self.rng],
            **{r: self.clones[r] for r in own if r is not self.rng},
        }
        rest_body = substitute_open(body, mapping)
        if node.op is Ops.END:
            return UOp.group(main_body.end(*main_loops), rest_body.end(*rest_loops)).end(*shared)
        main = UOp(Ops.REDUCE, (main_body, *main_loops), node.arg)
        return UOp(node.arg, (main, rest_body.reduce(node.arg, *rest_loops)))


def _apply(sink: UOp, opt: Opt) -> UOp:
    if opt.kind is OptKind.STAGE:
        return stage_operands(sink, opt.axis)
    rng = find_range(sink, opt.axis)
    if opt.kind is OptKind.PAD:
        return _pad(sink, rng, opt.amount)
    size = constant_size(rng)
    kind = AXIS_TYPES[opt.kind]
    if opt.amount == 0 or opt.amount == size or (opt.kind is OptKind.CHUNK and opt.amount == 1):
        whole = with_axis_type(rng, kind)
        return replace_ranges(sink, {rng: (whole, (whole,))})
    if opt.kind is OptKind.CHUNK:
        return _chunk(sink, rng, opt.amount)
    if size is not None and size < opt.amount:
        raise CompileError(f"optimisation: {opt} asks for more than the {size} values of the range")
    if size is not None and size % opt.amount == 0:
        return _divide(sink, rng, opt.amount, kind)
    if opt.kind in (OptKind.LOCAL, OptKind.GROUP):
        raise CompileError(f"optimisation: {opt} does not divide the range of {size}")
    peeler = _Peeler(sink, rng, opt.amount, kind)
    return separate_reused_ranges(map_graph(sink, peeler.visit))


def apply_opts(sink: UOp, opts: tuple[Opt, ...]) -> UOp:
    """Return the kernel with the ranges divided, indices simplified.

    Args:
        sink: a kernel.
        opts: applied one after the other.

    Raises:
        CompileError: an `Opt` does not fit the kernel.
    """
    if not opts:
        return sink
    for opt in opts:
        sink = _apply(sink, opt)
    return graph_rewrite(sink, symbolic, name="apply opts")
