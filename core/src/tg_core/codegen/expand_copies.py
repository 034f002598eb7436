"""Expand UPCAST and UNROLL ranges into copies.

Input: a kernel SINK with UPCAST and UNROLL ranges of constant size. Output: none of them is left.
* Every node that depends on such a range is copied, once per value, with the constant in the
  range's place.
* The copies of a STORE are collected in a GROUP.
* A REDUCE over an UNROLL range keeps one accumulator and adds the copies to it one after the other,
  in order: its value becomes a left chain whose nodes carry the tag `CHAIN`, which
  `lower_reduce_to_accumulators` unpacks.
* A REDUCE over an UPCAST range becomes one REDUCE per copy, each with its own accumulator, combined
  at the end in a balanced tree (neighbours first).
"""

from __future__ import annotations

import math
from typing import Final

from tg_core.codegen.utils import axis_type, balanced, build_folded, constant_size, with_sources
from tg_core.errors import CompileError
from tg_core.uop.ops import AxisType, Ops, UOp

CHAIN: Final = "chain"
"""Tag of the nodes that string the unrolled copies of a reduction's value together."""

_EXPANDED: Final = (AxisType.UPCAST, AxisType.UNROLL)


class _Expander:
    """The copies of every node, row-major over the ranges in `dims`."""

    def __init__(self, expanded: list[UOp]) -> None:
        self.order = {rng: i for i, rng in enumerate(expanded)}
        self.sizes: dict[UOp, int] = {}
        for rng in expanded:
            size = constant_size(rng)
            if size is None:
                raise CompileError(
                    f"expand: range {rng.arg} of type {axis_type(rng).name} needs a constant size"
                )
            self.sizes[rng] = size
        self.dims: dict[UOp, tuple[UOp, ...]] = {}
        self.copies: dict[UOp, list[UOp]] = {}

    def visit(self, node: UOp) -> None:
        """Make the copies of a node whose sources have theirs."""
        if node in self.order:
            self.dims[node] = (node,)
            self.copies[node] = [UOp.const(i) for i in range(self.sizes[node])]
        elif node.op is Ops.REDUCE:
            self._reduce(node)
        elif node.op is Ops.END:
            self._end(node)
        else:
            dims = self._union(node.src)
            self.dims[node] = dims
            if not dims:
                src = tuple([self.copies[s][0] for s in node.src])
                self.copies[node] = [with_sources(node, src)]
                return
            columns = [self._spread(s, dims) for s in node.src]
            self.copies[node] = [
                build_folded(node.op, src, node.arg, node.tag) for src in zip(*columns, strict=True)
            ]

    def _union(self, nodes: tuple[UOp, ...]) -> tuple[UOp, ...]:
        found: tuple[UOp, ...] = ()
        for node in nodes:
            dims = self.dims[node]
            if dims and dims != found:
                found = (
                    tuple(sorted({*found, *dims}, key=self.order.__getitem__)) if found else dims
                )
        return found

    def _spread(self, node: UOp, dims: tuple[UOp, ...]) -> list[UOp]:
        """Return the node's copies in another order of ranges, repeated over those it does not
        depend on.
        """
        own, copies = self.dims[node], self.copies[node]
        if own == dims:
            return copies
        strides: dict[UOp, int] = {}
        step = len(copies)
        for rng in own:
            step //= self.sizes[rng]
            strides[rng] = step
        spread = [0]
        for rng in dims:
            stride = strides.get(rng, 0)
            spread = [base + stride * i for base in spread for i in range(self.sizes[rng])]
        return [copies[i] for i in spread]

    def _reduce(self, node: UOp) -> None:
        value, loops = node.src[0], node.src[1:]
        chained = tuple(r for r in loops if r in self.order and axis_type(r) is AxisType.UNROLL)
        parallel = tuple(r for r in loops if r in self.order and axis_type(r) is AxisType.UPCAST)
        kept = tuple(self.copies[r][0] for r in loops if r not in self.order)
        outer = tuple(d for d in self.dims[value] if d not in chained and d not in parallel)
        copies = self._spread(value, (*outer, *parallel, *chained))
        chain_length = math.prod(self.sizes[r] for r in chained)
        tree_size = math.prod(self.sizes[r] for r in parallel)
        results: list[UOp] = []
        for start in range(0, len(copies), chain_length * tree_size):
            parts: list[UOp] = []
            for offset in range(start, start + chain_length * tree_size, chain_length):
                chain = copies[offset]
                for copy in copies[offset + 1 : offset + chain_length]:
                    chain = UOp(node.arg, (chain, copy), None, CHAIN)
                parts.append(UOp(Ops.REDUCE, (chain, *kept), node.arg) if kept else chain)
            results.append(balanced(node.arg, parts))
        self.dims[node] = outer
        self.copies[node] = results

    def _end(self, node: UOp) -> None:
        """Close the loops once, around the copies for every expanded range, also those that are
        closed further out.
        """
        body, loops = node.src[0], node.src[1:]
        kept = tuple(self.copies[r][0] for r in loops if r not in self.order)
        copies = dict.fromkeys(self.copies[body])
        self.dims[node] = ()
        self.copies[node] = [UOp.group(*copies).end(*kept)]


def expand_copies(sink: UOp) -> UOp:
    """Return the kernel with UPCAST and UNROLL ranges expanded.

    Raises:
        CompileError: such a range has no constant size, or is not closed.
    """
    nodes = sink.toposort()
    expanded = [n for n in nodes if n.op is Ops.RANGE and axis_type(n) in _EXPANDED]
    if not expanded:
        return sink
    expander = _Expander(sorted(expanded, key=lambda rng: rng.arg[:-1]))
    for node in nodes:
        expander.visit(node)
    if expander.dims[sink]:
        raise CompileError(
            f"expand: ranges {[r.arg for r in expander.dims[sink]]} are never closed"
        )
    return expander.copies[sink][0]
