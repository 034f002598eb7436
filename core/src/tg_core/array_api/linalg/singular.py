"""Singular values, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.limits import finfo
from tg_core.array_api.linalg.matrices import identity_like, matrices_of
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
    if 0 not in value.shape:
        return SVDResult(*value.svd(full_matrices))
    least = min(rows, columns)
    left = identity_like(value, rows)
    right = identity_like(value, columns)
    if not full_matrices:
        left = left._leading(value.ndim - 1, least)
        right = right._leading(value.ndim - 2, least)
    return SVDResult(left, value.sum(-1 if rows else -2)._leading(value.ndim - 2, least), right)


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
    values = svdvals(value)
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
