"""Singular values, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.limits import finfo
from tg_core.array_api.linalg.jacobi import angles, partner, steps
from tg_core.array_api.linalg.matrices import (
    identity_like,
    matrices_of,
    scale_of,
    step_of,
    stored,
)
from tg_core.array_api.linalg.triangular import qr
from tg_core.array_api.operands import array_of
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """Return U, the singular values in falling order, and V^T.

    Args:
        x: the matrices.
        full_matrices: complete U and V^T to square matrices.
    """
    value = matrices_of(x, "svd")
    rows, columns = value._int_shape()[-2:]
    if 0 in value.shape:
        return _of_nothing(value, full_matrices)
    if rows >= columns:
        left, values, right = _svd_of_tall(value._wide(), full_matrices)
        right = right.transpose(-2, -1)
    else:
        right, values, left = _svd_of_tall(value._wide().transpose(-2, -1), full_matrices)
        right = right.transpose(-2, -1)
    return SVDResult(*(part.cast(value.dtype) for part in (left, values, right)))


def _of_nothing(value: Tensor, full_matrices: bool) -> SVDResult:
    """Return the factors of matrices without elements."""
    rows, columns = value._int_shape()[-2:]
    least = min(rows, columns)
    left, right = identity_like(value, rows), identity_like(value, columns)
    if not full_matrices:
        left = left._leading(value.ndim - 1, least)
        right = right._leading(value.ndim - 2, least)
    return SVDResult(left, value.sum(-1 if rows else -2)._leading(value.ndim - 2, least), right)


def _svd_of_tall(value: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return U, the singular values and V of matrices with no more columns than rows.

    Rotations make the columns orthogonal (Hestenes, 1958); their lengths are the singular values.
    """
    rows, columns = value._int_shape()[-2:]
    scale = scale_of(value)
    work = stored(value / scale)
    turned = stored(identity_like(work, columns))
    for _ in range(steps(columns, work.dtype.bits)):
        work, turned = _two_rounds(work, turned)
    lengths = work.square().sum(-2).sqrt().contiguous()
    order = lengths.argsort(-1, descending=True).cast(dtypes.int32).contiguous()
    spread = order.unsqueeze(-2)
    values = lengths.gather(value.ndim - 2, order)
    work = work.gather(value.ndim - 1, spread._broadcast_to(work.shape))
    turned = turned.gather(value.ndim - 1, spread._broadcast_to(turned.shape))
    row = values.unsqueeze(-2)
    left = _completed(work / row.eq(0.0).where(1.0, row), rows if full_matrices else columns)
    return left, values * scale.squeeze(-1), turned


@step_of
def _two_rounds(work: Tensor, turned: Tensor) -> tuple[Tensor, Tensor]:
    """Make neighbouring columns orthogonal; `turned` gets the same rotations."""
    for start in (0, 1):
        other = partner(work, start, -1)
        own = work.square().sum(-2)
        keep, take = angles(own, partner(own, start, -1), (work * other).sum(-2), start)
        keep, take = keep.contiguous().unsqueeze(-2), take.contiguous().unsqueeze(-2)
        work = (keep * work + take * other).contiguous()
        turned = (keep * turned + take * partner(turned, start, -1)).contiguous()
    return work, turned


def _completed(x: Tensor, count: int) -> Tensor:
    """Return orthonormal columns, the last of which may be zero, as `count` orthonormal ones."""
    basis, triangle = qr(x, mode="complete")
    heads = triangle.diagonal(0, x.ndim - 2, x.ndim - 1)
    # a reflection may have turned a column around; what completes them is free
    missing = basis._int_shape()[-1] - heads._int_shape()[-1]
    grown = heads.pad([*[(0, 0)] * (x.ndim - 2), (0, missing)])
    return ((grown < 0.0).where(-1.0, 1.0).unsqueeze(-2) * basis)._leading(x.ndim - 1, count)


def svdvals(x: Tensor, /) -> Tensor:
    """Return the singular values of matrices in falling order."""
    return svd(x, full_matrices=False).S


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return how many singular values are above `rtol` times the greatest.

    Args:
        x: the matrices.
        rtol: the relative tolerance; the greater side times the precision unless given.
    """
    value = matrices_of(x, "matrix_rank")
    if 0 in value.shape[-2:]:
        return value.const_like(0, dtypes.default_int()).sum((-2, -1))
    values = svdvals(value).contiguous()
    return (values > _limit(value, values, rtol)).sum(-1)


def _limit(value: Tensor, values: Tensor, rtol: float | Tensor | None) -> Tensor:
    """Return the greatest singular value that counts as zero, with an axis of size 1."""
    if rtol is None:
        rtol = max(value._int_shape()[-2:]) * finfo(value.dtype).eps
    relative = rtol if isinstance(rtol, float) else array_of(rtol, "rtol").unsqueeze(-1)
    return values.max(-1, keepdim=True) * relative


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudoinverses of matrices.

    Args:
        x: the matrices.
        rtol: singular values up to this part of the greatest count as zero; the greater side
            times the precision unless given.
    """
    value = matrices_of(x, "pinv")
    if 0 in value.shape:
        return value.transpose(-2, -1)
    left, values, right = svd(value, full_matrices=False)
    kept = values > _limit(value, values, rtol)
    inverse = kept.where(kept.where(values, 1.0).reciprocal(), 0.0).unsqueeze(-2)
    return (right.transpose(-2, -1) * inverse) @ left.transpose(-2, -1)
