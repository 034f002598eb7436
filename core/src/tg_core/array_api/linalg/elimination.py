"""Gaussian elimination with partial pivoting: determinants, inverses and linear equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.data_types import result_type
from tg_core.array_api.linalg.matrices import (
    along,
    counter,
    identity_like,
    positions,
    square_matrices_of,
    step_of,
    stored,
)
from tg_core.array_api.operands import floats_of
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import broadcast_shapes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


@dataclass(frozen=True)
class _Triangle:
    """Matrices in row echelon form, with the columns that stood beside them."""

    rows: Tensor
    """The triangular matrices; what lies below the diagonal is zero up to rounding."""
    pivots: Tensor
    """Their diagonals as columns."""
    swapped: Tensor
    """Whether an odd number of rows was exchanged, of shape (..., 1, 1)."""


def _eliminated(x: Tensor, size: int) -> _Triangle:
    """Return the first `size` columns made triangular; the rest is carried along."""
    work = stored(x)
    pivots = stored(work.const_like(0.0)._leading(x.ndim - 1, 1))
    swapped = stored(pivots._leading(x.ndim - 2, 1).ne(0.0))
    step = counter(0, work)
    for _ in range(size):
        work, pivots, swapped, step = _pivoted(work, pivots, swapped, step)
    return _Triangle(work, pivots, swapped)


@step_of
def _pivoted(
    work: Tensor, pivots: Tensor, swapped: Tensor, step: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Exchange two rows and take multiples of the upper one off those below."""
    size, width = work._int_shape()[-2:]
    row, here = positions(size, -2), positions(size, -2).eq(step)
    in_column = positions(width, -1).eq(step)
    line = along(work, in_column, -1).contiguous()
    best = (row >= step).where(line.abs(), -1.0).argmax(-2, keepdim=True)
    best = best.cast(step.dtype).contiguous()
    there = row.eq(best)
    top, pivot_row = along(work, here, -2), along(work, there, -2).contiguous()
    exchanged = here.where(pivot_row, there.where(top, work))
    pivot = along(pivot_row, in_column, -1)
    entry = there.where(along(line, here, -2), line)
    factor = ((row > step) & pivot.ne(0.0)).where(entry / pivot, 0.0).contiguous()
    return (
        exchanged - factor * pivot_row,
        here.where(pivot, pivots),
        swapped.ne(best.ne(step)),
        step + 1,
    )


def _solved(matrix: Tensor, right: Tensor) -> Tensor:
    """Return the solutions of `matrix @ solution = right` for matrices of one stack."""
    size = matrix._int_shape()[-1]
    work = _eliminated(matrix.cat(right, dim=-1), size).rows
    step = counter(size - 1, work)
    for _ in range(size):
        work, step = _substituted(work, step)
    return work.shrink([*[None] * (work.ndim - 1), (size, work.shape[-1])])


@step_of
def _substituted(work: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Find one unknown and take what it makes off the equations above."""
    size, width = work._int_shape()[-2:]
    row, here = positions(size, -2), positions(size, -2).eq(step)
    line = along(work, positions(width, -1).eq(step), -1).contiguous()
    solved = (along(work, here, -2) / along(line, here, -2)).contiguous()
    return here.where(solved, work - (row < step).where(line, 0.0) * solved), step - 1


def _sign_of_order(triangle: _Triangle) -> Tensor:
    one = triangle.pivots.ufix(1.0)
    return triangle.swapped.where(-one, one).squeeze((-2, -1))


def _ones(x: Tensor) -> Tensor:
    """Return the determinants of matrices without elements."""
    return x.prod((-2, -1)).const_like(1.0)


def det(x: Tensor, /) -> Tensor:
    """Return the determinants of square matrices."""
    value = square_matrices_of(x, "det")
    if 0 in value.shape:
        return _ones(value)
    triangle = _eliminated(value._wide(), value._int_shape()[-1])
    product = triangle.pivots.prod((-2, -1))
    return (product * _sign_of_order(triangle)).cast(value.dtype)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """Return the signs of determinants and the logarithms of their magnitudes."""
    value = square_matrices_of(x, "slogdet")
    if 0 in value.shape:
        return SlogdetResult(_ones(value), _ones(value) - 1.0)
    triangle = _eliminated(value._wide(), value._int_shape()[-1])
    sign = triangle.pivots.sign().prod((-2, -1)) * _sign_of_order(triangle)
    magnitude = triangle.pivots.abs().log().sum((-2, -1))
    return SlogdetResult(sign.cast(value.dtype), magnitude.cast(value.dtype))


def inv(x: Tensor, /) -> Tensor:
    """Return the inverses of square matrices; a singular one gives infinities or NaN."""
    value = square_matrices_of(x, "inv")
    if 0 in value.shape:
        return value
    wide = value._wide()
    return _solved(wide, identity_like(wide, value._int_shape()[-1])).cast(value.dtype)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of linear equations.

    Args:
        x1: square matrices.
        x2: right sides: one vector for all, or matrices whose columns are right sides.

    Raises:
        ShapeError: the shapes do not fit.
    """
    matrix, right = square_matrices_of(x1, "solve"), floats_of(x2, "solve")
    dtype = result_type(matrix, right)
    size = matrix._int_shape()[-1]
    is_vector = right.ndim == 1
    if is_vector:
        right = right.unsqueeze(-1)
    if not right.ndim or right.shape[-2] != size:
        raise ShapeError(f"solve: shapes {x1.shape} and {x2.shape} do not fit")
    lead = broadcast_shapes("solve", matrix.shape[:-2], right.shape[:-2])
    wide = matrix.cast(dtype)._wide()._broadcast_to((*lead, size, size))
    sides = right.cast(dtype)._wide()._broadcast_to((*lead, size, right.shape[-1]))
    result = sides if 0 in sides.shape else _solved(wide, sides)
    return (result.squeeze(-1) if is_vector else result).cast(dtype)
