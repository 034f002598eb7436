"""What the heuristics know about a kernel: its loop nests, what each reads, and how accesses move
with each range.

A *nest* is the body of an END or of a REDUCE without the reductions inside, which are nests of
their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tg_core.codegen.utils import LinearForm, closed_ranges, greatest_size, linear_form, split_mask
from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import GroupOp, Ops, UOp

_WEIGHTS = {
    Ops.EXP2: 12,
    Ops.LOG2: 16,
    Ops.SIN: 60,
    Ops.POW: 80,
    Ops.THREEFRY: 100,
    Ops.FDIV: 3,
    Ops.RECIPROCAL: 3,
    Ops.SQRT: 3,
    Ops.FLOORDIV: 8,
    Ops.FLOORMOD: 8,
    Ops.CDIV: 8,
    Ops.CMOD: 8,
}
"""Operations that cost more than one, roughly in additions."""


@dataclass
class Access:
    """One LOAD or STORE."""

    node: UOp
    form: LinearForm
    mask: UOp | None

    def stride(self, rng: UOp) -> int | None:
        """Return how far the access moves per step of the range, None when not by a constant."""
        return self.form.stride(rng)

    def depends_on(self, rng: UOp) -> bool:
        """Tell whether address or mask change with the range."""
        return rng in self.node.src[0].src[1].ranges

    def masked_by(self, rng: UOp) -> bool:
        """Tell whether the mask changes with the range."""
        return self.mask is not None and rng in self.mask.ranges


@dataclass
class Nest:
    """The body of one END or REDUCE, or a store outside of all loops."""

    node: UOp
    loops: tuple[UOp, ...]
    """All ranges that are open inside, those it closes last."""
    own: tuple[UOp, ...]
    """The ranges it closes."""
    loads: list[Access] = field(default_factory=list)
    stores: list[Access] = field(default_factory=list)
    work: int = 0
    """Weight of the arithmetic of one iteration."""
    widest: int = 1
    """Largest element in bytes among values and accesses."""

    @property
    def trips(self) -> int:
        """How often the body runs."""
        return math.prod(greatest_size(r) for r in self.loops)

    @property
    def cost(self) -> int:
        """Weight of the whole nest without optimisation."""
        return self.trips * (self.work + len(self.loads) + len(self.stores))


@dataclass
class Kernel:
    """The nests of a kernel, a reduction before what reads its result."""

    outputs: list[Nest]
    reductions: list[Nest]
    """Also loops that fill scratch memory, which others read as they do a reduction's result."""

    @property
    def cost(self) -> int:
        """Weight of the whole kernel without optimisation."""
        return sum(nest.cost for nest in (*self.outputs, *self.reductions))


def weight_of(node: UOp) -> int:
    """Return what an operation on values costs, roughly in additions; 0 for any other node."""
    return _WEIGHTS.get(node.op, 1) if node.op in GroupOp.ALU and _is_value(node.dtype) else 0


def _is_value(dtype: DType) -> bool:
    return not dtypes.is_weak(dtype) and dtype not in (dtypes.bool, dtypes.void)


def _analyze_nest(node: UOp) -> Nest:
    own = closed_ranges(node)
    outer = tuple(r for r in node.ranges if r not in own)
    nest = Nest(node, (*outer, *own), own)
    # a value that changes with none of the innermost loops is computed outside of them, but counts
    # here all the same
    seen: set[UOp] = set()
    work = [node.src[0]] if node.op in (Ops.END, Ops.REDUCE) else [node]
    while work:
        current = work.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.op in (Ops.REDUCE, Ops.END):
            continue
        if current.op in (Ops.LOAD, Ops.STORE) and current.src[0].op is Ops.INDEX:
            mask, index = split_mask(current.src[0].src[1])
            access = Access(current, linear_form(index), mask)
            (nest.loads if current.op is Ops.LOAD else nest.stores).append(access)
            nest.widest = max(nest.widest, current.src[0].dtype.itemsize)
            work.extend(current.src[1:])
            work.extend(n for n, _ in access.form.terms)
            continue
        if current.op in GroupOp.ALU and _is_value(current.dtype):
            nest.work += _WEIGHTS.get(current.op, 1)
            nest.widest = max(nest.widest, current.dtype.itemsize)
        elif current.op is Ops.CAST and _is_value(current.dtype):
            nest.widest = max(nest.widest, current.dtype.itemsize)
        work.extend(current.src)
    if node.op is Ops.REDUCE:
        nest.work += 1
        nest.widest = max(nest.widest, node.dtype.itemsize)
    return nest


def analyze_kernel(sink: UOp) -> Kernel:
    """Return the nests of a kernel.

    Args:
        sink: a kernel whose ranges each belong to one loop.
    """
    kernel = Kernel([], [])
    for node in sink.toposort():
        if node in sink.src and node.op in (Ops.END, Ops.STORE, Ops.GROUP):
            kernel.outputs.append(_analyze_nest(node))
        elif node.op in (Ops.REDUCE, Ops.END):
            kernel.reductions.append(_analyze_nest(node))
    return kernel
