"""Decide whether and how a kernel is multiplied out of packed operands.

Input: a kernel SINK. Output: a `Plan` for `pack_operands`, or None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.choose_blocks import Blocks, Shape, choose_blocks, choose_depth
from tg_core.codegen.optimize.find_product import (
    Operand,
    Product,
    Term,
    find_product,
    is_contiguous,
)
from tg_core.codegen.optimize.packed_side import group_of, is_in_pieces
from tg_core.codegen.utils import known_size
from tg_core.dtype import dtypes
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_ENOUGH: Final = 128
_LEAST_WORK: Final = 1 << 15
_FEWEST_ROWS: Final = 4
_MOST_ROWS_IN_PLACE: Final = 8
"""Rows that are too few for columns to be worth packing that can be multiplied where they are."""
_FEWEST_REDUCED: Final = 8
_CROSSWISE: Final = 2
"""As many elements at once take what packing crosswise takes."""
_WAY_BYTES: Final = 1 << 12
"""Addresses this far apart compete for the same lines of a first cache: 32 KiB in 8 ways."""
_LINE: Final = 64
_FEW_ROWS: Final = 2
"""Rows on the same lines that disturb nothing."""
_FEW_PANELS: Final = 5
"""Panels of columns in all that are too few for the rows to be worth packing."""
_LONGEST_UNIT: Final = 128
"""Reduce loops inside of the one that is divided into blocks have at most this many elements."""


@dataclass(frozen=True)
class Steps:
    """How the reduction of one term is divided into blocks."""

    term: Term
    divided: int
    """Position of the reduce loop that is divided; those before it run around the blocks."""
    unit: int
    """Elements of the loops inside of it."""
    depth: int
    """Elements of a block, a multiple of the unit."""
    in_place: bool
    """Whether the rows are read where they are."""


@dataclass(frozen=True)
class Plan:
    """A product with the sizes of its blocks."""

    product: Product
    blocks: Blocks
    steps: tuple[Steps, ...]
    """How each term is reduced."""
    lanes: int


def plan_packing(sink: UOp, renderer: Renderer) -> Plan | None:
    """Return how to pack a kernel's operands; None where it is no product, or too small for it.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target; `shared_bytes` is the scratch memory of one thread.
    """
    if not renderer.has_threads or not renderer.vector_bytes or not renderer.shared_bytes:
        return None
    product = find_product(sink, _ENOUGH)
    if product is None:
        return None
    dtype = product.terms[0].reduction.dtype
    if dtype not in renderer.native_dtypes or dtypes.is_weak(dtype):
        return None
    lanes = renderer.vector_bytes // dtype.itemsize
    rows, columns, depth = product.rows.size, product.columns.size, product.terms[0].depth
    batch = math.prod(known_size(r) for r in product.batch)
    if min(rows, columns) < _FEWEST_ROWS or depth < _FEWEST_REDUCED or columns < lanes // 2:
        return None
    if batch * rows * columns * depth < _LEAST_WORK:
        return None
    if rows <= _MOST_ROWS_IN_PLACE and _is_of_dot_products(product):
        return None
    shape = Shape(
        batch=batch,
        rows=rows,
        columns=columns,
        depth=depth,
        itemsize=dtype.itemsize,
        lanes=lanes,
        registers=renderer.registers,
        row_group=_group(product.terms[0], product.rows, lanes),
        column_group=_group(product.terms[0], product.columns, lanes),
        in_pieces=is_in_pieces(product.columns),
    )
    divided, unit, size = _divided(product.terms[0])
    scratch = renderer.shared_bytes // len(product.terms)
    blocks = choose_blocks(replace(shape, row_group=0), unit, size, scratch)
    in_place = blocks is not None and _read_in_place(product.terms[0], divided, blocks)
    if not in_place:
        blocks = choose_blocks(shape, unit, size, scratch)
    if blocks is None:
        return None
    steps = [Steps(product.terms[0], divided, unit, blocks.depth, in_place)]
    for term in product.terms[1:]:
        divided, unit, size = _divided(term)
        if unit > blocks.depth:
            return None
        most = min(choose_depth(size, blocks.tile_columns * unit, dtype.itemsize), size)
        depth = min(most, blocks.depth // unit) * unit
        steps.append(Steps(term, divided, unit, depth, _read_in_place(term, divided, blocks)))
    return Plan(product, blocks, tuple(steps), lanes)


def _is_of_dot_products(product: Product) -> bool:
    """Tell whether the neighbours of both operands lie along the one loop of the reduction."""
    term = product.terms[0]
    if len(product.terms) > 1 or len(term.reduced) > 1 or term.columns.contiguous:
        return False
    along = term.reduced[0]
    return is_contiguous(term.rows.value, along) and is_contiguous(term.columns.value, along)


def _group(term: Term, operand: Operand, lanes: int) -> int:
    """Return how many elements of an operand packing moves at once."""
    if is_in_pieces(operand):
        return lanes
    if not operand.contiguous and is_contiguous(operand.value, term.reduced[-1]):
        return _CROSSWISE
    return group_of(operand, lanes)


def _read_in_place(term: Term, divided: int, blocks: Blocks) -> bool:
    """Tell whether reading the rows of a tile where they are is at least as good as packing them:
    they are in order, and few of them compete for the same lines of the first cache.
    """
    if not term.reads_in_order(term.rows, divided):
        return False
    step = term.rows.stride * term.rows.value.dtype.itemsize
    lines = [row * step % _WAY_BYTES // _LINE for row in range(blocks.tile_rows)]
    crowd = max(lines.count(line) for line in lines)
    panels = math.ceil(term.columns.size / blocks.tile_columns)
    return crowd <= _FEW_ROWS or (crowd == _FEW_ROWS + 1 and panels < _FEW_PANELS)


def _divided(term: Term) -> tuple[int, int, int]:
    """Return which reduce loop to divide, how many elements are inside of it, and its size."""
    sizes = [known_size(r) for r in term.reduced]
    divided = 0
    while math.prod(sizes[divided + 1 :]) > _LONGEST_UNIT:
        divided += 1
    return divided, math.prod(sizes[divided + 1 :]), sizes[divided]
