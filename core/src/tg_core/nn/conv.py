"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_core.errors import ShapeError
from tg_core.nn.initializers import uniform_by_fan_in
from tg_core.tensor import Tensor

__all__ = ["Conv1d", "Conv2d"]


class Convolution:
    """A convolution over as many last axes as `window` has sizes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        bias: bool,
    ) -> None:
        check_groups(type(self).__name__, in_channels, out_channels, groups)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        fan_in = in_channels // groups * math.prod(window)
        self.weight = uniform_by_fan_in((out_channels, in_channels // groups, *window), fan_in)
        """Shape `(out_channels, in_channels / groups, *window)`."""
        self.bias = uniform_by_fan_in((out_channels,), fan_in) if bias else None
        """Shape `(out_channels,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the convolution, shape `(batch, out_channels, *sizes)`.

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


class Conv1d(Convolution):
    """Convolve the last axis of `(batch, channels, length)`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the window.
        stride: step of the window.
        padding: zeros on each side, or before and after.
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
        kernel_size: int,
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels, out_channels, (kernel_size,), stride, padding, dilation, groups, bias
        )


class Conv2d(Convolution):
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
        window = square_window(kernel_size)
        super().__init__(in_channels, out_channels, window, stride, padding, dilation, groups, bias)


def square_window(kernel_size: int | tuple[int, int]) -> tuple[int, ...]:
    """Return height and width of a window given by both or by one number."""
    return (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)


def check_groups(layer: str, in_channels: int, out_channels: int, groups: int) -> None:
    """Raise ShapeError unless `groups` divides both channel counts."""
    if groups < 1 or in_channels % groups or out_channels % groups:
        raise ShapeError(
            f"{layer}: groups={groups} does not divide"
            f" in_channels={in_channels} and out_channels={out_channels}"
        )
