"""Transposed convolution layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_core.nn.conv import check_groups, square_window
from tg_core.nn.initializers import uniform_by_fan_in
from tg_core.tensor import Tensor

__all__ = ["ConvTranspose1d", "ConvTranspose2d"]


class TransposedConvolution:
    """A transposed convolution over as many last axes as `window` has sizes."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        window: Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        output_padding: int | Sequence[int],
        dilation: int | Sequence[int],
        groups: int,
        bias: bool,
    ) -> None:
        check_groups(type(self).__name__, in_channels, out_channels, groups)
        self.stride = stride
        self.padding = padding
        self.output_padding = output_padding
        self.dilation = dilation
        self.groups = groups
        # The fan that PyTorch counts here is that of the second axis of the weight, the outputs.
        fan_in = out_channels // groups * math.prod(window)
        self.weight = uniform_by_fan_in((in_channels, out_channels // groups, *window), fan_in)
        """Shape `(in_channels, out_channels / groups, *window)`."""
        self.bias = uniform_by_fan_in((out_channels,), fan_in) if bias else None
        """Shape `(out_channels,)`, or None."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return the transposed convolution, shape `(batch, out_channels, *sizes)`.

        A size becomes `(size - 1) * stride - 2 * padding + dilation * (window - 1) + 1
        + output_padding`.

        Raises:
            ShapeError: the channels of `x` do not fit the weight.
        """
        return x.conv_transpose2d(
            self.weight,
            self.bias,
            groups=self.groups,
            stride=self.stride,
            dilation=self.dilation,
            padding=self.padding,
            output_padding=self.output_padding,
        )


class ConvTranspose1d(TransposedConvolution):
    """Spread each value of `(batch, channels, length)` over a window, and add what overlaps.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: length of the window.
        stride: step of the window.
        padding: how much is cut off at both ends.
        output_padding: how much is added at the end.
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
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            (kernel_size,),
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            bias,
        )


class ConvTranspose2d(TransposedConvolution):
    """Spread each value of `(batch, channels, height, width)` over a window, and add overlaps.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window, or one number for both.
        stride: step of the window, per axis or for both.
        padding: how much is cut off around the result, per axis or for both.
        output_padding: how much is added after the result, per axis or for both.
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
        output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            square_window(kernel_size),
            stride,
            padding,
            output_padding,
            dilation,
            groups,
            bias,
        )
