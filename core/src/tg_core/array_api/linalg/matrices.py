"""What the factorisations share: checked arguments, and steps that are all one kernel.

A step of a factorisation works on whole matrices and finds its row and column by comparing
positions with a counter, which is a value on the device. So every step is the same program: it is
scheduled and compiled once for each shape (`step_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tg_core.array_api.operands import floats_of
from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.function import function

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def step_of(step: Callable[P, R]) -> function[P, R]:
    """Decorate a step that is repeated: each call is a unit, whose results have storage."""
    return function(step, precompile=True)


def stored(x: Tensor) -> Tensor:
    """Return what a step takes: a value with a device of its own."""
    return x.clone() if x.uop.device is None else x.contiguous()


def matrices_of(x: Tensor, name: str) -> Tensor:
    """Return an array of matrices as floats.

    Raises:
        ShapeError: there are fewer than two axes.
    """
    value = floats_of(x, name)
    if value.ndim < 2:
        raise ShapeError(f"{name}: expected matrices, found shape {value.shape}")
    return value


def square_matrices_of(x: Tensor, name: str) -> Tensor:
    """Return an array of square matrices as floats.

    Raises:
        ShapeError: they are not square.
    """
    value = matrices_of(x, name)
    if value.shape[-1] != value.shape[-2]:
        raise ShapeError(f"{name}: expected square matrices, found shape {value.shape}")
    return value


def positions(count: int, axis: int) -> Tensor:
    """Return `0, 1, ..., count - 1` along one of the last two axes, -2 or -1."""
    from tg_core.tensor import Tensor

    numbers = Tensor._counting(count, dtypes.int32)
    return numbers.reshape((count, 1) if axis == -2 else (1, count))


def counter(start: int, like: Tensor) -> Tensor:
    """Return the number of the first step, a value on the device of `like`."""
    from tg_core.tensor import Tensor

    return Tensor([[start]], dtype=dtypes.int32, device=like.uop.device)


def along(x: Tensor, hit: Tensor, axis: int) -> Tensor:
    """Return the row (axis -2) or column (axis -1) of the matrices where `hit` is true."""
    return hit.where(x, 0.0).sum(axis, keepdim=True)


def identity_like(x: Tensor, size: int) -> Tensor:
    """Return identity matrices with the leading axes and dtype of x."""
    ones = positions(size, -2).eq(positions(size, -1)).cast(x.dtype)
    return ones._broadcast_to((*x.shape[:-2], size, size))


def scale_of(x: Tensor) -> Tensor:
    """Return the greatest magnitude of each matrix, 1 for zero, so that squares do not overflow."""
    greatest = x.abs().max((-2, -1), keepdim=True).contiguous()
    return greatest.eq(0.0).where(1.0, greatest)
