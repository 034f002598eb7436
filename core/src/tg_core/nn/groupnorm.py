"""Normalization over groups of channels of each sample."""

from __future__ import annotations

from tg_core.errors import ShapeError
from tg_core.nn.initializers import parameter
from tg_core.tensor import Tensor

__all__ = ["GroupNorm", "InstanceNorm"]


class GroupNorm:
    """Normalize groups of channels (axis 1) of each sample, then scale and shift per channel.

    Args:
        num_groups: number of groups that the channels are split into.
        num_channels: number of channels.
        eps: added to the variance.
        affine: whether to scale and shift.

    Raises:
        ShapeError: `num_groups` does not divide `num_channels`.
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        if num_groups < 1 or num_channels % num_groups:
            raise ShapeError(
                f"{type(self).__name__}: {num_groups} groups do not divide {num_channels} channels"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = parameter(Tensor.ones(num_channels)) if affine else None
        """Shape `(num_channels,)`, or None."""
        self.bias = parameter(Tensor.zeros(num_channels)) if affine else None
        """Shape `(num_channels,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, of the shape and dtype of `x`.

        Raises:
            ShapeError: axis 1 of `x` is not the number of channels.
        """
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ShapeError(
                f"{type(self).__name__}: expected {self.num_channels} channels on axis 1,"
                f" found shape {x.shape}"
            )
        grouped = x.reshape(x.shape[0], self.num_groups, -1)
        normal = grouped.layernorm(eps=self.eps).reshape(x.shape)
        if self.weight is None or self.bias is None:
            return normal
        channels = (1, self.num_channels, *([1] * (x.ndim - 2)))
        return normal * self.weight.reshape(channels) + self.bias.reshape(channels)


class InstanceNorm(GroupNorm):
    """Normalize each channel of each sample: `GroupNorm` with one channel per group.

    Args:
        num_features: number of channels.
        eps: added to the variance.
        affine: whether to scale and shift.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(num_features, num_features, eps, affine)
