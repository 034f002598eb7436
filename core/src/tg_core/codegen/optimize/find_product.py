"""Recognise a reduction of products whose operands are each reused along loops of the other.

`REDUCE(a * b, k..., ADD)` inside the loops of one END, or several over the same of them: the loops
that only `a` changes with are its *rows*, those that only `b` changes with the *columns*, those of
both the *batch*. Products of matrices are of this form, and so are convolutions, where the columns
are the positions of the window, and sums of two of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tg_core.codegen.utils import closed_ranges, constant_size, known_size, linear_form, split_mask
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
        return math.prod(known_size(r) for r in self.ranges)

    @property
    def last(self) -> int:
        """Size of the innermost loop."""
        return known_size(self.ranges[-1])

    @property
    def stride(self) -> int:
        """Elements from one value of the innermost loop to the next, of an operand that is a
        single LOAD; 0 where that is not constant.
        """
        _, index = split_mask(self.value.src[0].src[1])
        return linear_form(index).stride(self.ranges[-1]) or 0


@dataclass(frozen=True)
class Term:
    """One reduction of products."""

    reduction: UOp
    """The REDUCE."""
    rows: Operand
    columns: Operand
    """The operand whose loops the output is contiguous along, where there is a choice."""
    reduced: tuple[UOp, ...]
    """Reduce loops, outermost first."""

    @property
    def depth(self) -> int:
        """Elements of the reduction."""
        return math.prod(known_size(r) for r in self.reduced)

    def reads_in_order(self, operand: Operand, divided: int) -> bool:
        """Tell whether an operand is in memory as it is multiplied, one element after the other
        along the reduce loops from `divided` on.
        """
        load = operand.value
        if load.op is not Ops.LOAD or len(load.src) != 1:
            return False
        mask, index = split_mask(load.src[0].src[1])
        form, expected = linear_form(index), 1
        for rng in reversed(self.reduced[divided:]):
            if mask is not None or form.stride(rng) != expected:
                return False
            expected *= known_size(rng)
        return True


@dataclass(frozen=True)
class Product:
    """A kernel of product reductions over the same rows and columns, and what is done with them."""

    end: UOp
    """The END around the stores."""
    terms: tuple[Term, ...]
    """The reductions, the one of most work first."""
    batch: tuple[UOp, ...]
    """Output loops that both operands change with, or that are too far out to be worth a block."""
    rest: tuple[UOp, ...]
    """Output loops that the products do not change with."""

    @property
    def rows(self) -> Operand:
        """The rows' operand of the first term."""
        return self.terms[0].rows

    @property
    def columns(self) -> Operand:
        """The columns' operand of the first term."""
        return self.terms[0].columns


def _loads(value: UOp) -> list[UOp]:
    return [n for n in value.toposort() if n.op is Ops.LOAD]


def is_contiguous(value: UOp, rng: UOp) -> bool:
    """Tell whether all loads of a value step by one element, or not at all, along a loop, and are
    not masked by it.
    """
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
    return Operand(value, own, is_contiguous(value, own[-1]))


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
        size *= known_size(operand.ranges[kept])
    return replace(operand, ranges=operand.ranges[kept:])


def _term(reduction: UOp, end: UOp, enough: int) -> Term | None:
    value, loops = reduction.src[0], closed_ranges(end)
    if reduction.arg is not Ops.ADD or value.op is not Ops.MUL or value.dtype is dtypes.bool:
        return None
    first, second = value.src
    if not _is_simple(first) or not _is_simple(second):
        return None
    left, right = _operand(first, second, loops), _operand(second, first, loops)
    if left is None or right is None:
        return None
    if _stored_along(end, left) and not _stored_along(end, right):
        left, right = right, left
    rows, columns = _without_far_loops(left, enough), _without_far_loops(right, enough)
    return Term(reduction, rows, columns, closed_ranges(reduction))


def _depth(term: Term) -> int:
    return term.depth


def find_product(sink: UOp, enough: int) -> Product | None:
    """Return the products that a kernel consists of, None when it is another kernel.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        enough: size of rows or columns beyond which loops further out are batch.
    """
    nodes = sink.toposort()
    reductions = [n for n in nodes if n.op is Ops.REDUCE]
    if not reductions or len(sink.src) != 1 or sink.src[0].op is not Ops.END:
        return None
    end, loops = sink.src[0], closed_ranges(sink.src[0])
    if any(constant_size(n) is None for n in nodes if n.op is Ops.RANGE):
        return None
    if any(n.op is Ops.STORE and n.src[0].op is not Ops.INDEX for n in nodes):
        return None
    terms: list[Term] = []
    for reduction in reductions:
        term = _term(reduction, end, enough)
        if term is None or any(r not in loops for r in reduction.ranges):
            return None
        terms.append(term)
    terms.sort(key=_depth, reverse=True)
    main = terms[0]
    mine = set(main.reduction.ranges)
    for term in terms[1:]:
        same = term.rows.ranges == main.rows.ranges and term.columns.ranges == main.columns.ranges
        if not same or set(term.reduction.ranges) != mine:
            return None
        if term.reduction.dtype is not main.reduction.dtype:
            return None
    blocked = (*main.rows.ranges, *main.columns.ranges)
    batch = tuple(r for r in loops if r in mine and r not in blocked)
    rest = tuple(r for r in loops if r not in mine)
    return Product(end, tuple(terms), batch, rest)
