"""Convolutions over any number of spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.dtype import DTypeLike
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.mixin.pooling import PoolingMixin, spatial_padding
from tg_core.uop.mixin.shape_utils import repeat_to, require_int, shape_text
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint


class ConvolutionMixin(PoolingMixin):
    """`conv2d conv_transpose2d`."""

    __slots__ = ()

    def conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Return the cross-correlation with `weight` over all axes but the first two.

        Args:
            weight: of shape (out, in / groups, *kernel).
            bias: added, of shape (out,).
            groups: how many groups of channels are convolved apart.
            stride: the distance of windows.
            dilation: the distance of values in a window.
            padding: zeros around the values; one amount, one for each axis, or before and after
                for each, last axis first.
            dtype: the dtype of the result.

        Raises:
            ShapeError: the shapes do not fit.
        """
        self._check_channels("conv2d", weight, groups, transposed=False)
        self._check_bias("conv2d", bias, weight.shape[0])
        spatial = weight.ndim - 2
        kernel = tuple(static_size(size, "conv2d") for size in weight.shape[2:])
        steps = _at_least("conv2d", "stride", repeat_to("conv2d", stride, spatial), 1)
        gaps = _at_least("conv2d", "dilation", repeat_to("conv2d", dilation, spatial), 1)
        pairs = spatial_padding("conv2d", padding, spatial)
        for axis, (taps, gap, pair) in enumerate(zip(kernel, gaps, pairs, strict=True)):
            if self.shape[axis + 2] + sum(pair) < gap * (taps - 1) + 1:
                raise ShapeError(
                    f"conv2d: kernel {shape_text(kernel)} with dilation {gaps} exceeds shape "
                    f"{shape_text(self.shape)} padded by {pairs}"
                )
        windows = self._pad_zeros([(0, 0), (0, 0), *pairs])._windows(kernel, steps, gaps)
        batch, counts = self.shape[0], windows.shape[2 : 2 + spatial]
        outputs, inputs = weight.shape[0] // groups, weight.shape[1]
        # (batch, group, 1, *counts, in, *kernel) * (1, group, out, *1, in, *kernel)
        split = windows.reshape((batch, groups, 1, inputs, *counts, *kernel))
        order = (0, 1, 2, *range(4, 4 + spatial), 3, *range(4 + spatial, 4 + 2 * spatial))
        values = split.permute(order)
        filters = weight.reshape((1, groups, outputs, *(1,) * spatial, inputs, *kernel))
        summed = tuple(range(3 + spatial, 4 + 2 * spatial))
        result = values._product_sum(filters, summed, dtype)
        result = result.reshape((batch, groups * outputs, *counts))
        return result if bias is None else result + bias.reshape((1, -1, *(1,) * spatial))

    def _check_bias(self, name: str, bias: Self | None, channels: sint) -> None:
        if bias is not None and self._same_kind(bias, name).shape != (channels,):
            raise ShapeError(
                f"{name}: bias of shape {shape_text(bias.shape)} for {channels} channels"
            )

    def _check_channels(self, name: str, weight: Self, groups: int, transposed: bool) -> None:
        self._same_kind(weight, name)
        groups = require_int(name, groups)
        fits = weight.ndim >= 3 and self.ndim == weight.ndim and groups >= 1
        expected = (weight.shape[0] if transposed else weight.shape[1] * groups) if fits else "no"
        if not fits or self.shape[1] != expected or weight.shape[0] % groups:
            raise ShapeError(
                f"{name}: shape {shape_text(self.shape)} with weight {shape_text(weight.shape)} "
                f"and {groups} groups, expected {expected} channels"
            )

    def conv_transpose2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
    ) -> Self:
        """Return the transpose of `conv2d` with the same arguments, as upsampling uses it.

        Args:
            weight: of shape (in, out / groups, *kernel).
            bias: added, of shape (out,).
            groups: how many groups of channels are convolved apart.
            stride: the distance at which values are spread.
            dilation: the distance of values in a window.
            padding: how much is cut off around the result.
            output_padding: how much is added after the result.

        Raises:
            ShapeError: the shapes do not fit.
        """
        name = "conv_transpose2d"
        self._check_channels(name, weight, groups, transposed=True)
        self._check_bias(name, bias, groups * weight.shape[1])
        spatial = weight.ndim - 2
        steps = _at_least(name, "stride", repeat_to(name, stride, spatial), 1)
        gaps = _at_least(name, "dilation", repeat_to(name, dilation, spatial), 1)
        more = _at_least(name, "output_padding", repeat_to(name, output_padding, spatial), 0)
        pairs = spatial_padding(name, padding, spatial)
        kernel = weight.shape[2:]
        grouped = weight.reshape((groups, weight.shape[0] // groups, *weight.shape[1:]))
        swapped = grouped.transpose(1, 2).flip(tuple(range(3, 3 + spatial)))
        filters = swapped.reshape((groups * weight.shape[1], weight.shape[0] // groups, *kernel))
        spread = self
        for number in range(spatial):
            spread = spread._spread(2 + number, steps[number])
        around = [
            (gap * (taps - 1) - before, gap * (taps - 1) - after + extra)
            for taps, gap, (before, after), extra in zip(kernel, gaps, pairs, more, strict=True)
        ]
        padded = spread.pad([(0, 0), (0, 0), *around])
        return padded.conv2d(filters, bias, groups, 1, gaps)

    def _spread(self, axis: int, step: int) -> Self:
        """Return self with `step - 1` zeros between the values of an axis."""
        if step == 1:
            return self
        size = self.shape[axis]
        apart = self.unsqueeze(axis + 1)
        grown = apart._pad_zeros([(0, step - 1 if a == axis + 1 else 0) for a in range(apart.ndim)])
        return grown.flatten(axis, axis + 1)._leading(axis, (size - 1) * step + 1)

    def image_conv2d(
        self,
        weight: Self,
        bias: Self | None = None,
        groups: int = 1,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dtype: DTypeLike | None = None,
    ) -> Self:
        """Convolve with textures; needs a backend with image storage.

        Raises:
            DTypeError: no installed backend has image storage.
        """
        raise DTypeError("image_conv2d: needs a backend with image storage, use conv2d()")


def _at_least(name: str, what: str, values: tuple[int, ...], least: int) -> tuple[int, ...]:
    if min(values, default=least) < least:
        raise ShapeError(f"{name}: {what} must be at least {least}, found {values}")
    return values
