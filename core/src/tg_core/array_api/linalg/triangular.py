"""Cholesky and QR factorisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.array_api.linalg.matrices import (
    along,
    counter,
    identity_like,
    matrices_of,
    positions,
    square_matrices_of,
    step_of,
    stored,
)
from tg_core.errors import ShapeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factors L of symmetric positive definite matrices L L^T.

    Only the lower triangles are read. A matrix that is not positive definite gives NaN.

    Args:
        x: the matrices.
        upper: return L^T instead.
    """
    value = square_matrices_of(x, "cholesky")
    rest = stored(value._wide())
    factor, step = stored(rest.const_like(0.0)), counter(0, rest)
    for _ in range(value._int_shape()[-1]):
        rest, factor, step = _cholesky_step(rest, factor, step)
    result = factor.cast(value.dtype)
    return result.transpose(-2, -1) if upper else result


@step_of
def _cholesky_step(rest: Tensor, factor: Tensor, step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Find one column of the factor and take its square off the rest."""
    size = rest._int_shape()[-1]
    row, here = positions(size, -2), positions(size, -1).eq(step)
    line = along(rest, here, -1)
    head = along(line, row.eq(step), -2)
    found = (row >= step).where(line / head.sqrt(), 0.0).contiguous()
    return rest - found * found.transpose(-2, -1), here.where(found, factor), step + 1


def qr(x: Tensor, /, *, mode: str = "reduced") -> QRResult:
    """Return matrices with orthonormal columns and upper triangular ones, whose products are x.

    Args:
        x: the matrices.
        mode: `reduced` for as many columns as the smaller side, `complete` for square Q.

    Raises:
        ShapeError: the mode is unknown.
    """
    if mode not in ("reduced", "complete"):
        raise ShapeError(f"qr: mode must be 'reduced' or 'complete', found {mode!r}")
    value = matrices_of(x, "qr")
    rows, columns = value._int_shape()[-2:]
    rest = stored(value._wide())
    basis, step = stored(identity_like(rest, rows)), counter(0, rest)
    for _ in range(min(rows - 1, columns)):
        rest, basis, step = _reflected(rest, basis, step)
    triangle = (positions(rows, -2) <= positions(columns, -1)).where(rest, 0.0)
    size = rows if mode == "complete" else min(rows, columns)
    return QRResult(
        basis._leading(value.ndim - 1, size).cast(value.dtype),
        triangle._leading(value.ndim - 2, size).cast(value.dtype),
    )


@step_of
def _reflected(rest: Tensor, basis: Tensor, step: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Reflect so that one column becomes zero below the diagonal (Householder, 1958)."""
    row, column = positions(rest._int_shape()[-2], -2), positions(rest._int_shape()[-1], -1)
    line = (row >= step).where(along(rest, column.eq(step), -1), 0.0)
    # scaled, so that squares neither overflow nor vanish
    scale = line.abs().max(-2, keepdim=True)
    unit = line / scale.eq(0.0).where(1.0, scale)
    norm = unit.square().sum(-2, keepdim=True).sqrt()
    head = along(unit, row.eq(step), -2)
    # away from the head, so that nothing cancels
    mirror = (unit + row.eq(step).where((head < 0.0).where(-norm, norm), 0.0)).contiguous()
    length = mirror.square().sum(-2, keepdim=True)
    weight = length.eq(0.0).where(0.0, 2.0 / length.eq(0.0).where(1.0, length)).contiguous()
    across = mirror.transpose(-2, -1)
    swept = (basis * across).sum(-1, keepdim=True)
    return (
        rest - mirror * ((mirror * rest).sum(-2, keepdim=True) * weight),
        basis - swept * (across * weight),
        step + 1,
    )
