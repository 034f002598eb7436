"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.linalg.jacobi import angles, partner, steps
from tg_core.array_api.linalg.matrices import (
    identity_like,
    positions,
    scale_of,
    square_matrices_of,
    step_of,
    stored,
)
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def eigh(x: Tensor, /) -> EighResult:
    """Return the eigenvalues of symmetric matrices in rising order, and orthonormal eigenvectors.

    Only the lower triangles are read.

    Args:
        x: the matrices.
    """
    value = square_matrices_of(x, "eigh")
    size = value._int_shape()[-1]
    if 0 in value.shape:
        return EighResult(value.sum(-1), value)
    wide = value._wide()
    lower = positions(size, -2) >= positions(size, -1)
    whole = lower.where(wide, wide.transpose(-2, -1))
    scale = scale_of(whole)
    work = stored(whole / scale)
    vectors = stored(identity_like(work, size))
    for _ in range(steps(size, work.dtype.bits)):
        work, vectors = _two_rounds(work, vectors)
    values = work.diagonal(0, work.ndim - 2, work.ndim - 1).contiguous()
    order = values.argsort(-1).cast(dtypes.int32).contiguous()
    picked = vectors.gather(vectors.ndim - 1, order.unsqueeze(-2)._broadcast_to(value.shape))
    ordered = values.gather(values.ndim - 1, order) * scale.squeeze(-1)
    return EighResult(ordered.cast(value.dtype), picked.cast(value.dtype))


@step_of
def _two_rounds(work: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Let neighbours meet, those of either kind."""
    for start in (0, 1):
        work, vectors = _rotated(work, vectors, start)
    return work, vectors


def _rotated(work: Tensor, vectors: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Zero the elements where neighbours meet, with rotations of rows and columns."""
    crossed, above = partner(work, start, -1), partner(work, start, -2)
    own, right, left = (x.diagonal(0, x.ndim - 2, x.ndim - 1) for x in (work, crossed, above))
    # rounding makes the matrix a little asymmetric; both of a pair must find the same angle
    shared = (right + left) * 0.5
    keep, take = angles(own, partner(own, start, -1), shared, start)
    keep, take = keep.contiguous(), take.contiguous()
    keep_row, take_row = keep.unsqueeze(-2), take.unsqueeze(-2)
    keep_column, take_column = keep.unsqueeze(-1), take.unsqueeze(-1)
    turned = keep_row * work + take_row * crossed
    across = keep_row * above + take_row * partner(crossed, start, -2)
    return (
        (keep_column * turned + take_column * across).contiguous(),
        (keep_row * vectors + take_row * partner(vectors, start, -1)).contiguous(),
    )


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of symmetric matrices in rising order."""
    return eigh(x).eigenvalues
