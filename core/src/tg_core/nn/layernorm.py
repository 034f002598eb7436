"""Normalization over the last axes."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.errors import ShapeError
from tg_core.nn.initializers import parameter
from tg_core.tensor import Tensor

__all__ = ["LayerNorm"]


class LayerNorm:
    """Normalize the last axes of each sample to mean 0 and variance 1, then scale and shift.

    Args:
        normalized_shape: sizes of the axes to normalize over, the last ones of the input.
        eps: added to the variance.
        elementwise_affine: whether to scale and shift.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
    ) -> None:
        single = isinstance(normalized_shape, int)
        self.normalized_shape: tuple[int, ...] = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.axis: int | tuple[int, ...] = (
            -1 if single else tuple(range(-len(self.normalized_shape), 0))
        )
        self.eps = eps
        self.weight: Tensor | None = None
        """Shape `normalized_shape`, or None."""
        self.bias: Tensor | None = None
        """Shape `normalized_shape`, or None."""
        if elementwise_affine:
            self.weight = parameter(Tensor.ones(*self.normalized_shape))
            self.bias = parameter(Tensor.zeros(*self.normalized_shape))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, of the shape of `x`.

        Raises:
            ShapeError: the last axes of `x` are not `normalized_shape`.
        """
        if x.shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise ShapeError(
                f"LayerNorm: expected a shape that ends in {self.normalized_shape}, found {x.shape}"
            )
        normal = x.layernorm(axis=self.axis, eps=self.eps)
        if self.weight is None or self.bias is None:
            return normal
        return normal * self.weight + self.bias
