"""Turn reductions into loops over accumulators.

Input: a kernel SINK after expansion, REDUCE over loop ranges only. Output: no REDUCE. Each becomes
    a REG buffer (an array of
`n` elements for a vector value) that is set to the identity before its loop, updated in it, and
read after it:

    REDUCE(value, r..., ADD)  ->  LOAD(AFTER(acc, END(STORE(acc, LOAD(acc) + value), r...)))

* Reductions over the same ranges, inside the same loops, none reading another's result, share one
  loop.
* Copies chained by `expand_copies` are added to the accumulator one after the other, in order.
* `acc + a*b` of floats becomes MULACC(a, b, acc) where the target has it: the choice is written
  here, so that no compiler makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.expand_copies import CHAIN
from tg_core.codegen.separate_reused_ranges import (
    LoopKey,
    loop_key,
    reduction_depths,
    separate_reused_ranges,
)
from tg_core.codegen.utils import closed_ranges, identity_of, with_sources
from tg_core.dtype import dtypes
from tg_core.uop.ops import AddrSpace, Ops, UOp
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from tg_core.renderer import Renderer


def unchain(op: Ops, value: UOp) -> list[UOp]:
    """Return the values that `expand_copies` strung together, in order."""
    reversed_parts: list[UOp] = []
    while value.op is op and value.tag == CHAIN:
        reversed_parts.append(value.src[1])
        value = value.src[0]
    return [value, *reversed(reversed_parts)]


def accumulate(op: Ops, total: UOp, value: UOp, fused: bool) -> UOp:
    """Return `total` with one value added; a product of floats is fused where the target has
    MULACC.
    """
    if op is Ops.ADD and fused and value.op is Ops.MUL and dtypes.is_float(value.dtype):
        return UOp(Ops.MULACC, (*value.src, total))
    return UOp(op, (total, value))


class _Lowering:
    """Rebuilds the kernel; reductions that share a loop are rebuilt together."""

    def __init__(self, sink: UOp, fused: frozenset[Ops]) -> None:
        nodes = sink.toposort()
        depth = reduction_depths(nodes)
        self.fused = Ops.MULACC in fused
        self.members: dict[LoopKey, list[UOp]] = {}
        self.key_of: dict[UOp, LoopKey] = {}
        self.next_slot = 1 + max((n.arg.slot for n in nodes if n.op is Ops.BUFFER), default=-1)
        for node in nodes:
            if node.op is Ops.REDUCE:
                key = loop_key(node, depth[node])
                self.key_of[node] = key
                self.members.setdefault(key, []).append(node)
        self.done: dict[UOp, UOp] = {}

    def shares_ranges(self) -> bool:
        """Tell whether a range belongs to several loops: of copies of a reduction, folding may have
        taken some out of a loop around it.
        """
        owner: dict[UOp, LoopKey] = {}
        return any(
            owner.setdefault(rng, key) != key
            for key, members in self.members.items()
            for rng in closed_ranges(members[0])
        )

    def sources(self, node: UOp) -> list[UOp]:
        """Return what must be rebuilt before a node; for a reduction, the sources of all that share
        its loop.
        """
        key = self.key_of.get(node)
        if key is None:
            return list(node.src)
        return [s for member in self.members[key] for s in member.src]

    def run(self, sink: UOp) -> UOp:
        """Rebuild the kernel."""
        work: list[tuple[UOp, bool]] = [(sink, False)]
        while work:
            node, ready = work.pop()
            if node in self.done:
                continue
            if not ready:
                work.append((node, True))
                work.extend((s, False) for s in reversed(self.sources(node)) if s not in self.done)
            elif node in self.key_of:
                self._lower(self.members[self.key_of[node]])
            else:
                self.done[node] = with_sources(node, tuple([self.done[s] for s in node.src]))
        return self.done[sink]

    def _lower(self, members: list[UOp]) -> None:
        outer = tuple(self.done[r] for r in members[0].ranges)
        loops = tuple(self.done[r] for r in closed_ranges(members[0]))
        zero = UOp.const(0)
        stores: list[UOp] = []
        accumulators: list[tuple[UOp, int | None]] = []
        for member in members:
            value = self.done[member.src[0]]
            width = value.shape[0] if value.shape else None
            size = 1 if width is None else static_size(width)
            lanes = None if width is None else size
            storage = UOp.register(size, member.dtype, self.next_slot)
            self.next_slot += 1
            identity = UOp.const(identity_of(member.arg, member.dtype), member.dtype)
            start = storage.after(*outer).index(zero, lanes).store(identity)
            running = storage.after(start, *loops).index(zero, lanes)
            total = running.load()
            for part in unchain(member.arg, value):
                total = accumulate(member.arg, total, part, self.fused)
            stores.append(running.store(total))
            accumulators.append((storage, lanes))
        finished = UOp.group(*stores).end(*loops)
        for member, (storage, lanes) in zip(members, accumulators, strict=True):
            self.done[member] = storage.after(finished).index(zero, lanes).load()


def lower_reduce_to_accumulators(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with loops and accumulators instead of reductions.

    Args:
        sink: a kernel after `expand_copies` and `expand_vectors`.
        renderer: says whether MULACC is native.
    """
    lowering = _Lowering(sink, renderer.native_ops)
    if lowering.shares_ranges():
        sink = separate_reused_ranges(sink)
        lowering = _Lowering(sink, renderer.native_ops)
    return lowering.run(sink)


def is_private(node: UOp) -> bool:
    """Tell whether a node is a REG buffer."""
    return node.op is Ops.BUFFER and node.arg.addrspace is AddrSpace.REG
