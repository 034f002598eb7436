"""The convolution layer."""

from __future__ import annotations

import math

from tg_core.errors import ShapeError
from tg_core.nn.initializers import uniform_by_fan_in
from tg_core.tensor import Tensor

__all__ = ["Conv2d"]


class Conv2d:
    """Convolve the two last axes of `(batch, channels, height, width)`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window, or one number for both.
        stride: step of the window, per axis or for both.
        padding: zeros on each side, per axis or for both.
        dilation: distance between the elements of a window.
        groups: number of independent groups that the channels are split into.
        bias: whether to add one value per output channel.

    Raises:
        ShapeError: `groups` does not divide both channel counts.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ShapeError(
                f"Conv2d: groups={groups} does not divide"
                f" in_channels={in_channels} and out_channels={out_channels}"
            )
        window = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        fan_in = in_channels // groups * math.prod(window)
        self.weight = uniform_by_fan_in((out_channels, in_channels // groups, *window), fan_in)
        """Shape `(out_channels, in_channels / groups, height, width)`."""
        self.bias = uniform_by_fan_in((out_channels,), fan_in) if bias else None
        """Shape `(out_channels,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the convolution, shape `(batch, out_channels, height, width)`.

        Raises:
            ShapeError: the channels of `x` do not fit the weight, or a window does not fit in `x`.
        """
        return x.conv2d(
            self.weight,
            self.bias,
            groups=self.groups,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
        )
