"""The fully connected layer."""

from __future__ import annotations

from tg_core.nn.initializers import uniform_by_fan_in
from tg_core.tensor import Tensor

__all__ = ["Linear"]


class Linear:
    """Apply `x @ weight.T + bias` to the last axis.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        bias: whether to add one.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.weight = uniform_by_fan_in((out_features, in_features), in_features)
        """Shape `(out_features, in_features)`."""
        self.bias = uniform_by_fan_in((out_features,), in_features) if bias else None
        """Shape `(out_features,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the layer's output, shape `(..., out_features)`.

        Raises:
            ShapeError: the last axis of `x` is not `in_features` long.
        """
        return x.linear(self.weight.transpose(0, 1), self.bias)
