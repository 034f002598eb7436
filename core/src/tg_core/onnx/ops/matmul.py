"""Products of matrices."""

from __future__ import annotations

from tg_core.errors import ShapeError
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of
from tg_core.tensor import Tensor

__all__ = ["determinant", "einsum", "gemm", "matmul"]

MAX_ELIMINATION = 512
"""How many steps of elimination are unrolled."""


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of matrices, or of stacks of them."""
    return a.matmul(b).cast(a.dtype)


def _gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None,
    alpha: float,
    beta: float,
    turned: tuple[bool, bool],
) -> Tensor:
    left = a.transpose() if turned[0] else a
    right = b.transpose() if turned[1] else b
    result = left.matmul(right)
    if alpha != 1:
        result = result * alpha
    if c is None:
        return result.cast(a.dtype)
    return (result + (c if beta == 1 else c * beta)).cast(a.dtype)


@operator("Gemm")
def gemm_legacy(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: bool = False,
    transA: bool = False,
    transB: bool = False,
) -> Tensor:
    """Return alpha * a @ b + beta * c."""
    return _gemm(a, b, c, alpha, beta, (transA, transB))


@operator("Gemm", since=7)
def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: bool = False,
    transB: bool = False,
) -> Tensor:
    """Return alpha * a @ b + beta * c, which broadcasts."""
    return _gemm(a, b, c, alpha, beta, (transA, transB))


@operator("Einsum", since=12)
def einsum(*operands: Tensor, equation: str) -> Tensor:
    """Return the sum of products that a formula names."""
    return Tensor.einsum(equation, *operands).cast(operands[0].dtype)


@operator("Det", since=11)
def determinant(x: Tensor) -> Tensor:
    """Return the determinants of square matrices, by elimination with the greatest pivots."""
    n = size_of(x, -1)
    if n > MAX_ELIMINATION:
        raise ShapeError(f"matrices of {n} rows, at most {MAX_ELIMINATION} are supported")
    rows = Tensor.arange(n).reshape((n, 1))
    result = None
    for step in range(n):
        column = x[..., :, step]
        eligible = (rows.reshape((n,)) >= step).where(column.abs(), -1.0)
        best = eligible.argmax(-1, keepdim=True).unsqueeze(-1)
        # rows `step` and `best` change places
        source = rows.eq(step).where(best, rows.eq(best).where(step, rows))
        x = x.gather(x.ndim - 2, source.expand(x.shape))
        pivot = x[..., step, step]
        swapped = best.reshape(pivot.shape).ne(step)
        signed = swapped.where(-pivot, pivot)
        result = signed if result is None else result * signed
        safe = pivot.eq(0).where(1.0, pivot).reshape((*pivot.shape, 1, 1))
        factor = (rows > step).where(x[..., :, step : step + 1] / safe, 0.0)
        x = x - factor * x[..., step : step + 1, :]
    return Tensor.ones(*x.shape[:-2], dtype=x.dtype) if result is None else result
