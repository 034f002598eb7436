"""Random numbers, from the generator of tensors: `Tensor.manual_seed` repeats them."""

from __future__ import annotations

from tg_core.dtype import DType, dtypes
from tg_core.onnx.casting import element_of_code
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["multinomial", "random_normal", "random_uniform"]


def _dtype(code: int | None, other: DType) -> DType:
    return other if code is None else element_of_code(code).dtype


@operator("RandomUniform")
def random_uniform(
    *,
    shape: tuple[int, ...],
    dtype: int = 1,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Tensor:
    """Return numbers between low and high."""
    return (Tensor.rand(*shape) * (high - low) + low).cast(_dtype(dtype, dtypes.float32))


@operator("RandomNormal")
def random_normal(
    *,
    shape: tuple[int, ...],
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Return normally distributed numbers."""
    return (Tensor.randn(*shape) * scale + mean).cast(_dtype(dtype, dtypes.float32))


@operator("RandomUniformLike")
def random_uniform_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Tensor:
    """Return numbers between low and high, as many as x has."""
    return (Tensor.rand(*x.shape) * (high - low) + low).cast(_dtype(dtype, x.dtype))


@operator("RandomNormalLike")
def random_normal_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Return normally distributed numbers, as many as x has."""
    return (Tensor.randn(*x.shape) * scale + mean).cast(_dtype(dtype, x.dtype))


@operator("Bernoulli", since=15)
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    """Return 1 with the probabilities in x, 0 otherwise."""
    return (Tensor.rand(*x.shape) < x).cast(_dtype(dtype, x.dtype))


@operator("Multinomial", since=7)
def multinomial(
    x: Tensor, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None
) -> Tensor:
    """Return classes drawn with the logarithms of probabilities in x."""
    drawn = x.softmax(-1).multinomial(sample_size, replacement=True)
    return drawn.cast(element_of_code(dtype).dtype)
