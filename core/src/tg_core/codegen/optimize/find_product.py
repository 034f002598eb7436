"""Recognise a reduction of products whose operands are each reused along loops of the other.

`REDUCE(a * b, k..., ADD)` inside the loops of one END: the loops that only `a` changes with are its
*rows*, those that only `b` changes with the *columns*, those of both the *batch*. Products of
matrices are of this form, and so are convolutions, where the columns are the positions of the
window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tg_core.codegen.utils import closed_ranges, constant_size, linear_form, split_mask
from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, UOp


@dataclass(frozen=True)
class Operand:
    """One factor."""

    value: UOp
    """What is multiplied, computed from loads."""
    ranges: tuple[UOp, ...]
    """The output loops that only this operand changes with, outermost first."""
    contiguous: bool
    """Whether all its loads step by one element, or not at all, along the last of them."""

    @property
    def size(self) -> int:
        """Trips of the loops."""
        return math.prod(_size(r) for r in self.ranges)

    @property
    def last(self) -> int:
        """Size of the innermost loop."""
        return _size(self.ranges[-1])


@dataclass(frozen=True)
class Product:
    """A kernel of one product reduction and what is done with its result."""

    end: UOp
    """The END around the stores."""
    reduction: UOp
    """The REDUCE."""
    rows: Operand
    columns: Operand
    """The operand whose loops the output is contiguous along, where there is a choice."""
    batch: tuple[UOp, ...]
    """Output loops that both operands change with, or that are too far out to be worth a block."""
    reduced: tuple[UOp, ...]
    """Reduce loops, outermost first."""
    rest: tuple[UOp, ...]
    """Output loops that the product does not change with."""


def _size(rng: UOp) -> int:
    size = constant_size(rng)
    assert size is not None
    return size


def _loads(value: UOp) -> list[UOp]:
    return [n for n in value.toposort() if n.op is Ops.LOAD]


def _contiguous(value: UOp, rng: UOp) -> bool:
    for load in _loads(value):
        mask, index = split_mask(load.src[0].src[1])
        if linear_form(index).stride(rng) not in (0, 1):
            return False
        if mask is not None and rng in mask.ranges:
            return False
    return True


def _operand(value: UOp, other: UOp, loops: tuple[UOp, ...]) -> Operand | None:
    own = tuple(r for r in loops if r in value.ranges and r not in other.ranges)
    if not own:
        return None
    return Operand(value, own, _contiguous(value, own[-1]))


def _stored_along(end: UOp, operand: Operand) -> bool:
    """Tell whether a store steps by one element along the operand's innermost loop."""
    for node in end.src[0].toposort():
        if node.op is Ops.STORE:
            _, index = split_mask(node.src[0].src[1])
            if linear_form(index).stride(operand.ranges[-1]) == 1:
                return True
    return False


def _is_simple(value: UOp) -> bool:
    """Tell whether a factor is computed from loads alone, and may be computed ahead."""
    return not any(
        n.op in (Ops.REDUCE, Ops.END, Ops.AFTER, Ops.STORE, Ops.CALL) for n in value.toposort()
    )


def _without_far_loops(operand: Operand, enough: int) -> Operand:
    """Keep the innermost loops up to a size that fills blocks; the others become batch."""
    kept, size = len(operand.ranges), 1
    while kept and size < enough:
        kept -= 1
        size *= _size(operand.ranges[kept])
    return replace(operand, ranges=operand.ranges[kept:])


def find_product(sink: UOp, enough: int) -> Product | None:
    """Return the product that a kernel consists of, None when it is another kernel.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        enough: size of rows or columns beyond which loops further out are batch.
    """
    reductions = [n for n in sink.toposort() if n.op is Ops.REDUCE]
    if len(reductions) != 1 or len(sink.src) != 1 or sink.src[0].op is not Ops.END:
        return None
    end, reduction = sink.src[0], reductions[0]
    value, loops = reduction.src[0], closed_ranges(end)
    if reduction.arg is not Ops.ADD or value.op is not Ops.MUL or value.dtype is dtypes.bool:
        return None
    reduced = closed_ranges(reduction)
    if any(constant_size(r) is None for r in (*loops, *reduced)):
        return None
    if any(r not in loops for r in reduction.ranges) or any(
        n.op is Ops.STORE and n.src[0].op is not Ops.INDEX for n in sink.toposort()
    ):
        return None
    first, second = value.src
    if not _is_simple(first) or not _is_simple(second):
        return None
    left, right = _operand(first, second, loops), _operand(second, first, loops)
    if left is None or right is None:
        return None
    if _stored_along(end, left) and not _stored_along(end, right):
        left, right = right, left
    rows = _without_far_loops(left, enough)
    columns = _without_far_loops(right, enough)
    blocked = (*rows.ranges, *columns.ranges)
    batch = tuple(r for r in loops if r in reduction.ranges and r not in blocked)
    rest = tuple(r for r in loops if r not in reduction.ranges)
    return Product(end, reduction, rows, columns, batch, reduced, rest)
