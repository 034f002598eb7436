"""Normalization by the root of the mean square."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.nn.initializers import parameter
from tg_core.tensor import Tensor

__all__ = ["RMSNorm"]


class RMSNorm:
    """Divide the last axis by the root of its mean square, then scale.

    Narrow floats are normalized in float32 and rounded once before the scale.

    Args:
        dim: size of the last axis.
        eps: added to the mean square.
        elementwise_affine: whether to scale.

    Source: Zhang and Sennrich, "Root mean square layer normalization" (2019), equation 4.
    """

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True) -> None:
        self.dim = dim
        self.eps = eps
        self.weight = parameter(Tensor.ones(dim)) if elementwise_affine else None
        """Shape `(dim,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, of the shape of `x`.

        Raises:
            ShapeError: the last axis of `x` is not `dim` long.
        """
        if x.ndim < 1 or x.shape[-1] != self.dim:
            raise ShapeError(f"RMSNorm: expected a last axis of {self.dim}, found shape {x.shape}")
        narrow = dtypes.is_float(x.dtype) and x.dtype.itemsize < 4
        wide = x.cast(dtypes.float32) if narrow else x
        scale = (wide.square().mean(axis=-1, keepdim=True) + self.eps).rsqrt()
        normal = (wide * scale).cast(x.dtype) if narrow else wide * scale
        return normal if self.weight is None else normal * self.weight
