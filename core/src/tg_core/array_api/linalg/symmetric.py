"""Eigenvalues and eigenvectors of symmetric matrices by Jacobi's method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.linalg.matrices import identity_like, positions, square_matrices_of
from tg_core.dtype import dtypes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

SWEEPS = {32: 8, 64: 10}
"""How often every pair of rows is rotated, by the width of the dtype; convergence is quadratic."""


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
    if size == 0:
        return EighResult(value.sum(-1), value)
    wide = value._wide()
    row, column = positions(size, -2), positions(size, -1)
    work = (row >= column).where(wide, wide.transpose(-2, -1))
    vectors = identity_like(work, size)
    if size % 2:
        # a row of zeros makes the number even; its rotations change nothing
        lead = [(0, 0)] * (value.ndim - 2)
        work = work.pad([*lead, (0, 1), (0, 1)])
        vectors = vectors.pad([*lead, (0, 0), (0, 1)])
    work, vectors = work.contiguous(), vectors.contiguous()
    for _ in range(SWEEPS[work.dtype.bits] * (work._int_shape()[-1] - 1)):
        work, vectors = _rotated(work, vectors)
    return _in_order(work, vectors, value, size)


def _rotated(work: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Zero the elements where row i of the first half meets row i of the second, and pair anew.

    All pairs of a round at once; rounds follow the circle method, so that after one less than
    there are rows every pair has met (Brent and Luk, 1985).
    """
    half = work._int_shape()[-1] // 2
    heads = work.diagonal(0, work.ndim - 2, work.ndim - 1)
    shared = work.diagonal(half, work.ndim - 2, work.ndim - 1)
    first, second = heads.split(half, -1)
    done = shared.eq(0.0)
    ratio = (second - first) / done.where(1.0, 2.0 * shared)
    size = 1.0 / (ratio.abs() + (ratio.square() + 1.0).sqrt())
    tangent = done.where(0.0, (ratio < 0.0).where(-size, size))
    cosine = ((tangent.square() + 1.0).rsqrt()).contiguous()
    sine = (cosine * tangent).contiguous()
    turned = _turn(work, cosine.unsqueeze(-2), sine.unsqueeze(-2), -1).contiguous()
    return (
        _turn(turned, cosine.unsqueeze(-1), sine.unsqueeze(-1), -2).contiguous(),
        _turn(vectors, cosine.unsqueeze(-2), sine.unsqueeze(-2), -1).contiguous(),
    )


def _turn(x: Tensor, cosine: Tensor, sine: Tensor, axis: int) -> Tensor:
    """Return x with the halves along an axis rotated, in the order of the next round."""
    half = x._int_shape()[axis] // 2
    low, high = x.split(half, axis)
    top, bottom = low * cosine - high * sine, low * sine + high * cosine
    if half == 1:
        return top.cat(bottom, dim=axis)
    head, middle, tail = top.split([1, half - 2, 1], axis)
    crossing, rest = bottom.split([1, half - 1], axis)
    return head.cat(crossing, middle, rest, tail, dim=axis)


def _in_order(work: Tensor, vectors: Tensor, like: Tensor, size: int) -> EighResult:
    """Return eigenvalues and vectors in rising order, without what was padded."""
    values = work.diagonal(0, work.ndim - 2, work.ndim - 1)
    padded = vectors.square().sum(-2).eq(0.0)
    order = padded.where(float("inf"), values).contiguous().argsort(-1).cast(dtypes.int32)
    order = order._leading(order.ndim - 1, size).contiguous()
    picked = vectors.gather(vectors.ndim - 1, order.unsqueeze(-2)._broadcast_to(like.shape))
    return EighResult(
        values.gather(values.ndim - 1, order).cast(like.dtype), picked.cast(like.dtype)
    )


def eigvalsh(x: Tensor, /) -> Tensor:
    """Return the eigenvalues of symmetric matrices in rising order."""
    return eigh(x).eigenvalues
