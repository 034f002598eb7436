"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.array_api.linalg.matrices import matrices_of
from tg_core.array_api.linalg.singular import svdvals
from tg_core.array_api.operands import floats_of
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import resolve_axes

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | str = "fro") -> Tensor:
    """Return the norms of matrices.

    Args:
        x: the matrices.
        keepdims: keep the last two axes with size 1.
        ord: `fro` (root of the sum of squares), `nuc` (sum of singular values), 2 and -2
            (greatest and smallest singular value), 1 and -1 (greatest and smallest sum of
            magnitudes of a column), inf and -inf (of a row).

    Raises:
        ShapeError: the order is another one.
    """
    value = matrices_of(x, "matrix_norm")
    if ord == "fro":
        return vector_norm(value, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, math.inf, -math.inf):
        summed, left = (-2, -1) if ord in (1, -1) else (-1, -2)
        sums = value._wide().abs().sum(summed, keepdim=True)
        picked = sums.max(left, keepdim=True) if ord > 0 else sums.min(left, keepdim=True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(value)
        if ord == "nuc":
            picked = values.sum(-1, keepdim=True).unsqueeze(-1)
        else:
            best = values.max(-1, keepdim=True) if ord == 2 else values.min(-1, keepdim=True)
            picked = best.unsqueeze(-1)
    else:
        raise ShapeError(f"matrix_norm: unknown order {ord!r}")
    return (picked if keepdims else picked.squeeze((-2, -1))).cast(value.dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Tensor:
    """Return the norms of vectors along axes.

    Args:
        x: the array.
        axis: the axes that the vectors lie along, all unless given.
        keepdims: keep those axes with size 1.
        ord: the power p of the p-norm; inf and -inf for the greatest and smallest magnitude, 0
            for the number of values that are not zero.
    """
    value = floats_of(x, "vector_norm")
    axes = resolve_axes("vector_norm", axis, value.ndim)
    size = value._wide().abs()
    if ord == math.inf:
        norm = size.max(axes, keepdims)
    elif ord == -math.inf:
        norm = size.min(axes, keepdims)
    elif ord == 0:
        norm = size.ne(0.0).cast(size.dtype).sum(axes, keepdims)
    elif ord == 1:
        norm = size.sum(axes, keepdims)
    elif ord == 2:
        norm = size.square().sum(axes, keepdims).sqrt()
    else:
        norm = size.pow(float(ord)).sum(axes, keepdims).pow(1.0 / ord)
    return norm.cast(value.dtype)
