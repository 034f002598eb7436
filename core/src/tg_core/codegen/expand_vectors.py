"""Turn VECTOR ranges into lanes.

Input: a kernel SINK whose VECTOR ranges have a constant size and never meet in one value. Output:
    none of them is left;
values that depended on one have shape `(n,)`, others stay scalar and broadcast.
* A LOAD or STORE whose index grows by one per lane becomes one of `n` consecutive elements; a LOAD
  that is the same for every lane stays scalar; any other becomes one access per lane. The gate may
  be one bool or `n` lanes (only where the target has masked accesses).
* A REDUCE over a VECTOR range becomes a vector of `n` partial results, combined at the end in a
  fixed tree: the second half of the lanes is combined into the first half until one lane is left
  (an odd lane is carried along).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.codegen.transpose_lanes import lane, lanes, neighbouring_stores, transposed
from tg_core.codegen.utils import axis_type, build_folded, constant_size, linear_form, with_sources
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg_core.renderer import Renderer


def combine_lanes(op: Ops, vector: UOp, count: int) -> UOp:
    """Combine the lanes of a vector into one scalar, halves onto each other."""
    while count > 1:
        half = count // 2
        combined = UOp(op, (lanes(vector, 0, half), lanes(vector, half, half)))
        if count % 2:
            # the odd lane joins lane 0, so that the width stays a half
            first = UOp(op, (lane(combined, 0), lane(vector, count - 1)))
            rest = [lane(combined, i) for i in range(1, half)]
            combined = UOp(Ops.STACK, (first, *rest)) if rest else first
        vector, count = combined, half
    return vector


class _Vectorizer:
    """Rebuilds a kernel; `done` maps each node to its scalar or vector form."""

    def __init__(self, renderer: Renderer, nodes: Iterable[UOp]) -> None:
        self.masked_access = renderer.has_masked_access
        self.vector_bytes = renderer.vector_bytes
        self.done: dict[UOp, UOp] = {}
        self.crosswise: dict[UOp, list[UOp]] = {}
        """By STORE: those it is stored with, where it is not stored alone."""
        for node in nodes:
            if node.op is Ops.GROUP:
                self._find_crosswise(node)

    def _find_crosswise(self, group: UOp) -> None:
        first = group.src[0]
        vector = _vector_of(first) if first.op is Ops.STORE else None
        if vector is None:
            return
        most = max(self.vector_bytes // first.src[1].dtype.itemsize, 1)
        for stores in neighbouring_stores(group, vector, _size(vector), most):
            self.crosswise.update(dict.fromkeys(stores, stores))

    def visit(self, node: UOp) -> None:
        """Rebuild one node whose sources are rebuilt."""
        if node.op is Ops.RANGE and axis_type(node) is AxisType.VECTOR:
            self.done[node] = UOp(Ops.STACK, tuple(UOp.const(i) for i in range(_size(node))))
        elif node in self.crosswise:
            self.done[node] = node  # rebuilt by the last of them
            stores = self.crosswise[node]
            if all(store in self.done for store in stores):
                self.done.update(dict.fromkeys(stores, self._transposed(stores)))
        elif node.op in (Ops.LOAD, Ops.STORE) and (vector := _vector_of(node)) is not None:
            self.done[node] = self._access(node, vector)
        elif node.op is Ops.INDEX and _vector_of(node) is not None:
            self.done[node] = node  # rebuilt by the access that reads it
        elif node.op in (Ops.REDUCE, Ops.END):
            self.done[node] = self._close(node)
        else:
            src = [self.done[s] for s in node.src]
            if node.op is Ops.GROUP:
                src = list(dict.fromkeys(src))
            self.done[node] = with_sources(node, tuple(src))

    def _transposed(self, stores: list[UOp]) -> UOp:
        """Return the stores of neighbouring places, lane by lane."""
        place = stores[0].src[0]
        vector = _vector_of(stores[0])
        assert vector is not None
        storage, count = self.done[place.src[0]], _size(vector)
        rows = transposed([self.done[s.src[1]] for s in stores], count)
        wide = [
            UOp(Ops.INDEX, (storage, self.done_at(place.src[1], vector, i)), len(stores))
            for i in range(count)
        ]
        return UOp.group(*[at.store(row) for at, row in zip(wide, rows, strict=True)])

    def _close(self, node: UOp) -> UOp:
        value = self.done[node.src[0]]
        loops = node.src[1:]
        kept = tuple(self.done[r] for r in loops if axis_type(r) is not AxisType.VECTOR)
        if node.op is Ops.END:
            return value.end(*kept)
        vectors = [r for r in loops if axis_type(r) is AxisType.VECTOR]
        if not vectors:
            return UOp(Ops.REDUCE, (value, *kept), node.arg)
        if len(vectors) > 1:
            raise CompileError("vectors: a reduction has two vector ranges")
        count = _size(vectors[0])
        if not value.shape:
            value = UOp(Ops.STACK, (value,) * count)
        partial = UOp(Ops.REDUCE, (value, *kept), node.arg) if kept else value
        return combine_lanes(node.arg, partial, count)

    def _access(self, node: UOp, vector: UOp) -> UOp:
        """Rebuild a LOAD or STORE that depends on a VECTOR range, itself or through its value."""
        place = node.src[0]
        index = place.src[1]
        gate = node.src[2] if len(node.src) > 2 else None
        storage = self.done[place.src[0]]
        stride = linear_form(index).stride(vector)
        gate_varies = gate is not None and vector in gate.ranges
        count = _size(vector)
        if stride == 1 and (not gate_varies or self.masked_access):
            base = self.done_at(index, vector, 0)
            wide = UOp(Ops.INDEX, (storage, base), count)
            return UOp(node.op, (wide, *(self.done[s] for s in node.src[1:])), None, node.tag)
        if (
            node.op is Ops.LOAD
            and stride == 0
            and not gate_varies
            and vector not in node.src[1 if gate is not None else 0].ranges
        ):
            return with_sources(
                node,
                (
                    UOp(Ops.INDEX, (storage, self.done[index])),
                    *(self.done[s] for s in node.src[1:]),
                ),
            )
        single: list[UOp] = []
        for i in range(count):
            target = UOp(Ops.INDEX, (storage, self.done_at(index, vector, i)))
            rest = [lane(self.done[node.src[1]], i)] if len(node.src) > 1 else []
            if gate is not None:
                rest.append(self.done_at(gate, vector, i))
            single.append(UOp(node.op, (target, *rest), None, node.tag))
        return (
            UOp(Ops.STACK, tuple(single)) if node.op is Ops.LOAD else UOp(Ops.GROUP, tuple(single))
        )

    def done_at(self, expression: UOp, vector: UOp, position: int) -> UOp:
        """Return a scalar expression at one lane; loads inside it are scalar there."""
        local: dict[UOp, UOp] = {vector: UOp.const(position)}

        def varies(node: UOp) -> bool:
            return node is not vector and vector in node.ranges

        for node in expression.toposort(varies):
            if node in local:
                continue
            if varies(node):
                local[node] = build_folded(
                    node.op, tuple([local[s] for s in node.src]), node.arg, node.tag
                )
            else:
                local[node] = self.done[node]
        return local[expression]


def _size(rng: UOp) -> int:
    size = constant_size(rng)
    if size is None:
        raise CompileError(f"vectors: range {rng.arg} needs a constant size")
    return size


def _vector_of(node: UOp) -> UOp | None:
    """Return the VECTOR range a node depends on."""
    found = [r for r in node.ranges if axis_type(r) is AxisType.VECTOR]
    if len(found) > 1:
        raise CompileError(
            f"vectors: {node.op.name} depends on two vector ranges {[r.arg for r in found]}"
        )
    return found[0] if found else None


def expand_vectors(sink: UOp, renderer: Renderer) -> UOp:
    """Return the kernel with VECTOR ranges as lanes.

    Args:
        sink: a kernel after `expand_copies`.
        renderer: says whether accesses may have a gate per lane.

    Raises:
        CompileError: two vector ranges meet in one value, or one has no constant size.
    """
    nodes = sink.toposort()
    if not any(n.op is Ops.RANGE and axis_type(n) is AxisType.VECTOR for n in nodes):
        return sink
    vectorizer = _Vectorizer(renderer, nodes)
    for node in nodes:
        vectorizer.visit(node)
    return vectorizer.done[sink]
