"""What the choice of kernels needs to know of each node, computed from the sources up.

Everything is counted from the storage that a node reads: a value that will certainly be
materialised counts as storage for its readers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.uop.ops import GroupOp, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

TRANSCENDENTAL_COST = 10
THREEFRY_COST = 100
_COSTS = {
    **dict.fromkeys((Ops.EXP2, Ops.LOG2, Ops.SIN), TRANSCENDENTAL_COST),
    Ops.POW: 2 * TRANSCENDENTAL_COST,
    Ops.THREEFRY: THREEFRY_COST,
    **dict.fromkeys((Ops.SQRT, Ops.RECIPROCAL, Ops.FDIV), 3),
    **dict.fromkeys((Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD), 4),
}
_COST_LIMIT = 1 << 20
DEPTH_LIMIT = 256
"""Elementwise operations in a row after which a value is materialised, so that kernels stay of
bounded size.
"""


class Facts:
    """Facts about every node of one graph."""

    def __init__(self) -> None:
        self.cost: dict[UOp, int] = {}
        """Operations to compute one element, shared ones counted once per use."""
        self.heavy: set[UOp] = set()
        """Nodes that compute a reduction of stored data on the way."""
        self.reads: dict[UOp, frozenset[UOp]] = {}
        """Storage states that one kernel computing the node would read."""
        self.expected: set[UOp] = set()
        """Storage, and values that will most likely get some: their readers were counted as reading
        memory.
        """
        self.cut: set[UOp] = set()
        """Nodes to materialise because a kernel would grow too deep or read too many buffers."""


def is_state(node: UOp) -> bool:
    """Tell whether a node is storage, storage after writes, or either read as another dtype of
    another size.
    """
    while node.op is Ops.AFTER or (
        node.op is Ops.BITCAST and node.arg.itemsize != node.src[0].dtype.itemsize
    ):
        node = node.src[0]
    return node.op is Ops.BUFFER or (node.op is Ops.PARAM and node.arg.bounds is None)


def cost_of(node: UOp) -> int:
    """Return the operations of a node itself, per element."""
    return _COSTS.get(node.op, 1 if node.op in GroupOp.ALU else 0)


def is_materialised(node: UOp) -> bool:
    """Tell whether a node always gets storage of its own."""
    return node.op in (Ops.COPY, Ops.CONTIGUOUS)


def collect_facts(order: Sequence[UOp], max_reads: int) -> Facts:
    """Compute the facts of a graph in topological order.

    Args:
        order: nodes, sources first.
        max_reads: buffers one kernel may read.
    """
    facts = Facts()
    readers: dict[UOp, int] = {}
    for node in order:
        for source in dict.fromkeys(node.src):
            readers[source] = readers.get(source, 0) + 1
    depth: dict[UOp, int] = {}
    stored = facts.expected
    nothing: frozenset[UOp] = frozenset()
    for node in order:
        if is_state(node):
            facts.cost[node], depth[node], facts.reads[node] = 0, 0, frozenset((node,))
            stored.add(node)
            continue
        if node.op is Ops.CALL:
            facts.cost[node], depth[node], facts.reads[node] = 0, 0, nothing
            continue
        reads = nothing
        for source in node.src:
            other = frozenset((source,)) if source in stored else facts.reads[source]
            if not other <= reads:
                reads = reads | other
        if len(reads) > max_reads:
            for source in dict.fromkeys(node.src):
                if len(facts.reads[source]) > 1 and source not in stored:
                    facts.cut.add(source)
                    stored.add(source)
            reads = frozenset(source for source in dict.fromkeys(node.src) if facts.reads[source])
        live = [s for s in node.src if s not in stored and s not in facts.cut]
        cost = cost_of(node) + sum(facts.cost[s] for s in live)
        if node.op is Ops.REDUCE_AXIS:
            cost += 1
        if node.op is Ops.CMPEQ and not all(facts.reads[s] for s in node.src):
            # a lookup by position: the sum around it becomes one load, the comparison vanishes
            cost = 0
        facts.cost[node] = min(cost, _COST_LIMIT)
        depth[node] = max((depth[s] for s in live), default=0) + (node.op in GroupOp.ALU)
        facts.reads[node] = reads
        heavy = bool(reads) and (node.op is Ops.REDUCE_AXIS or any(s in facts.heavy for s in live))
        if heavy:
            facts.heavy.add(node)
        if depth[node] >= DEPTH_LIMIT and node.op in GroupOp.ALU:
            facts.cut.add(node)
        if is_materialised(node) or node in facts.cut or (heavy and readers.get(node, 0) > 1):
            stored.add(node)
            depth[node] = 0
    return facts
