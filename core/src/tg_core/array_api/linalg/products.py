"""Products, diagonals and powers of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.array_api.linalg.elimination import inv
from tg_core.array_api.linalg.matrices import identity_like, square_matrices_of
from tg_core.array_api.operands import array_of, pair, sum_dtype_of
from tg_core.dtype import DType
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import broadcast_shapes, resolve_axis

if TYPE_CHECKING:
    from tg_core.tensor import Tensor


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three values along an axis.

    Raises:
        ShapeError: the axis has another size.
    """
    left, right = pair(array_of(x1, "cross"), array_of(x2, "cross"), "cross")
    shape = broadcast_shapes("cross", left.shape, right.shape)
    where = resolve_axis("cross", axis, len(shape))
    if left.shape[axis] != 3 or right.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} of shapes {x1.shape} and {x2.shape} has not size 3")
    left, right = left._broadcast_to(shape), right._broadcast_to(shape)
    # component i is a[i+1] b[i+2] - a[i+2] b[i+1]
    ahead, behind = left.roll(-1, where), left.roll(-2, where)
    return ahead * right.roll(-2, where) - behind * right.roll(-1, where)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of matrices, above the main one for a positive offset."""
    value = array_of(x, "diagonal")
    if value.ndim < 2:
        raise ShapeError(f"diagonal: expected matrices, found shape {value.shape}")
    return value.diagonal(offset, value.ndim - 2, value.ndim - 1)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Return square matrices to an integer power; a negative one is that of the inverses."""
    value = square_matrices_of(x, "matrix_power")
    if n == 0:
        return identity_like(value, value._int_shape()[-1])
    remaining, power = abs(n), inv(value) if n < 0 else value
    result: Tensor | None = None
    while remaining:
        if remaining & 1:
            result = power if result is None else (result @ power).contiguous()
        remaining >>= 1
        power = (power @ power).contiguous() if remaining else power
    assert result is not None
    return result


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of every value of one vector with every one of the other.

    Raises:
        ShapeError: an argument is no vector.
    """
    left, right = pair(array_of(x1, "outer"), array_of(x2, "outer"), "outer")
    if left.ndim != 1 or right.ndim != 1:
        raise ShapeError(f"outer: expected vectors, found shapes {x1.shape} and {x2.shape}")
    return left.unsqueeze(-1) * right.unsqueeze(0)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of the diagonals of matrices.

    Args:
        x: the matrices.
        offset: which diagonal, above the main one when positive.
        dtype: the dtype to sum in; narrow integers widen to the default int unless given.
    """
    heads = diagonal(x, offset=offset)
    target = dtype or sum_dtype_of(heads.dtype)
    return heads.cast(target).sum(-1).cast(target)
