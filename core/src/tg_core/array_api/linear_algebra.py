"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.array_api.operands import array_of, pair
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import prod, resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix product; stacks of matrices broadcast."""
    left, right = pair(array_of(x1, "matmul"), array_of(x2, "matmul"), "matmul")
    return left.matmul(right)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return matrices with rows and columns exchanged.

    Raises:
        ShapeError: there are fewer than two axes.
    """
    value = array_of(x, "matrix_transpose")
    if value.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected matrices, found shape {value.shape}")
    return value.transpose(-2, -1)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Return the sums of products over axes of both.

    Args:
        x1: the left operand.
        x2: the right operand.
        axes: how many last axes of x1 meet the first ones of x2, or the axes of each.

    Raises:
        ShapeError: the axes do not fit.
    """
    left, right = pair(array_of(x1, "tensordot"), array_of(x2, "tensordot"), "tensordot")
    if isinstance(axes, int):
        if not 0 <= axes <= min(left.ndim, right.ndim):
            raise ShapeError(f"tensordot: {axes} axes of shapes {left.shape} and {right.shape}")
        summed = list(range(left.ndim - axes, left.ndim)), list(range(axes))
    else:
        summed = (
            [resolve_axis("tensordot", axis, left.ndim) for axis in axes[0]],
            [resolve_axis("tensordot", axis, right.ndim) for axis in axes[1]],
        )
    sizes = [left.shape[axis] for axis in summed[0]]
    if sizes != [right.shape[axis] for axis in summed[1]]:
        raise ShapeError(
            f"tensordot: axes {axes} of shapes {left.shape} and {right.shape} do not fit"
        )
    kept = [a for a in range(left.ndim) if a not in summed[0]]
    others = [a for a in range(right.ndim) if a not in summed[1]]
    lead, tail = [left.shape[a] for a in kept], [right.shape[a] for a in others]
    rows = left.permute((*kept, *summed[0])).reshape((prod(lead), prod(sizes)))
    columns = right.permute((*summed[1], *others)).reshape((prod(sizes), prod(tail)))
    return rows.matmul(columns).reshape((*lead, *tail))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot products of vectors along an axis, which is counted from the end."""
    left, right = pair(array_of(x1, "vecdot"), array_of(x2, "vecdot"), "vecdot")
    if axis >= 0 and left.ndim != right.ndim:
        raise ShapeError(f"vecdot: axis {axis} must be negative where the numbers of axes differ")
    rows = left.transpose(axis, -1).unsqueeze(-2)
    columns = right.transpose(axis, -1).unsqueeze(-1)
    if left.shape[axis] != right.shape[axis]:
        raise ShapeError(f"vecdot: shapes {left.shape} and {right.shape} do not fit")
    return rows.matmul(columns).squeeze((-2, -1))
