"""Pooling over windows of the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.reduce import accumulation_dtype
from tg_core.uop.mixin.scatter import ScatterMixin
from tg_core.uop.mixin.shape_utils import prod, repeat_to, require_int, shape_text
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

Pairs = list[tuple[int, int]]


def spatial_padding(name: str, padding: int | Sequence[int], spatial: int) -> Pairs:
    """Return `(before, after)` of each spatial axis.

    Args:
        name: what the error names.
        padding: one amount, one for each axis, or before and after for each, last axis first.
        spatial: the number of spatial axes.

    Raises:
        ShapeError: the number of amounts does not fit, or one is negative.
    """
    amounts = (padding,) * spatial if isinstance(padding, int) else tuple(padding)
    if len(amounts) == spatial:
        pairs = [(amount, amount) for amount in amounts]
    elif len(amounts) == 2 * spatial:
        pairs = [(amounts[i], amounts[i + 1]) for i in range(0, len(amounts), 2)][::-1]
    else:
        raise ShapeError(f"{name}: padding {padding} does not fit {spatial} spatial axes")
    if any(amount < 0 for pair in pairs for amount in pair):
        raise ShapeError(f"{name}: padding must not be negative, found {padding}")
    return pairs


def _kernel_of(name: str, kernel_size: int | Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of a window; one int is a square."""
    if isinstance(kernel_size, (tuple, list)) and kernel_size:
        return repeat_to(name, kernel_size, len(kernel_size))
    return (require_int(name, kernel_size),) * 2


class PoolingMixin(ScatterMixin):
    """`max_pool2d avg_pool2d max_unpool2d`, for any number of spatial axes."""

    __slots__ = ()

    def _pool_setup(
        self,
        name: str,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None,
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Pairs, Pairs]:
        """Return kernel, stride, dilation, the padding asked for, and with what ceil_mode adds."""
        kernel = _kernel_of(name, kernel_size)
        spatial = len(kernel)
        if self.ndim < spatial:
            raise ShapeError(
                f"{name}: kernel {shape_text(kernel)} for shape {shape_text(self.shape)}"
            )
        steps = repeat_to(name, kernel if stride is None else stride, spatial)
        gaps = repeat_to(name, dilation, spatial)
        if min(*kernel, *steps, *gaps) < 1:
            raise ShapeError(
                f"{name}: kernel, stride and dilation must be positive, found {kernel}, {steps} "
                f"and {gaps}"
            )
        pairs = spatial_padding(name, padding, spatial)
        grown: Pairs = []
        for size, taps, step, gap, (before, after) in zip(
            self.shape[-spatial:], kernel, steps, gaps, pairs, strict=True
        ):
            reach = gap * (taps - 1) + 1
            length = static_size(size, name)
            room = length + before + after - reach
            count = (-(-room // step) if ceil_mode else room // step) + 1
            # the last window must start inside of the values or of the padding before them
            if ceil_mode and (count - 1) * step >= length + before:
                count -= 1
            if count < 1:
                raise ShapeError(
                    f"{name}: a window of {reach} exceeds an axis of {size} padded by "
                    f"({before}, {after})"
                )
            extra = max((count - 1) * step - room, 0)
            grown.append((before, after + extra))
        return kernel, steps, gaps, pairs, grown

    def _pool_windows(
        self,
        kernel: tuple[int, ...],
        steps: tuple[int, ...],
        gaps: tuple[int, ...],
        pairs: Pairs,
        value: Any,
    ) -> Self:
        lead = [(0, 0)] * (self.ndim - len(kernel))
        return self.pad([*lead, *pairs], value=value)._windows(kernel, steps, gaps)

    def max_pool2d(
        self,
        kernel_size: int | tuple[int, ...] = (2, 2),
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] = 1,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """Return the maximum of every window over the last axes.

        Args:
            kernel_size: the size of the window; one int is a square.
            stride: the distance of windows, the kernel size unless given.
            dilation: the distance of values in a window.
            padding: how much is put around the values, never chosen as the maximum.
            ceil_mode: also take windows that hang over the end.
            return_indices: also return where the maxima are, as flat positions.

        Raises:
            ShapeError: the window does not fit.
        """
        kernel, steps, gaps, _, pairs = self._pool_setup(
            "max_pool2d", kernel_size, stride, dilation, padding, ceil_mode
        )
        axes = tuple(range(self.ndim, self.ndim + len(kernel)))
        windows = self._pool_windows(kernel, steps, gaps, pairs, dtypes.min(self.dtype))
        best = windows._reduce(Ops.MAX, axes, True)
        result = best.reshape(best.shape[: self.ndim])
        if not return_indices:
            return result
        sizes = self.shape[-len(kernel) :]
        total = prod(sizes)
        # counted down, so that the first of several maxima is the greatest and padding is 0
        down = (0 - self._counting(total, dtypes.int32) + total).reshape(sizes)
        places = down._pool_windows(kernel, steps, gaps, pairs, 0)
        hits = windows.eq(best) | windows.isnan()
        first = hits.where(places, 0)._reduce(Ops.MAX, axes, False)
        return result, (0 - first + total)._as(dtypes.default_int())

    def avg_pool2d(
        self,
        kernel_size: int | tuple[int, ...] = (2, 2),
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] = 1,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Self:
        """Return the mean of every window over the last axes.

        Args:
            kernel_size: the size of the window; one int is a square.
            stride: the distance of windows, the kernel size unless given.
            dilation: the distance of values in a window.
            padding: how much is put around the values.
            ceil_mode: also take windows that hang over the end; what hangs over never counts.
            count_include_pad: whether padding counts in the mean.

        Raises:
            ShapeError: the window does not fit.
        """
        kernel, steps, gaps, asked, pairs = self._pool_setup(
            "avg_pool2d", kernel_size, stride, dilation, padding, ceil_mode
        )
        value = self._require_float()
        axes = tuple(range(self.ndim, self.ndim + len(kernel)))
        wide = value._as(accumulation_dtype(value.dtype))
        total = wide._pool_windows(kernel, steps, gaps, pairs, 0)._reduce(Ops.ADD, axes, False)
        if asked == pairs and (count_include_pad or not any(map(any, asked))):
            share: float = 1 / prod(kernel)
            return (total * share)._as(value.dtype)
        sizes = self.shape[-len(kernel) :]
        ones = self._const(1.0, wide.dtype)._broadcast_to(sizes)
        if count_include_pad:
            ones = ones.pad(asked, value=1)
            pairs = [(0, grown[1] - own[1]) for grown, own in zip(pairs, asked, strict=True)]
        counted = ones._pool_windows(kernel, steps, gaps, pairs, 0)
        number = counted._reduce(Ops.ADD, tuple(range(len(kernel), 2 * len(kernel))), False)
        return (total / number)._as(value.dtype)

    def max_unpool2d(
        self,
        indices: Self,
        kernel_size: int | tuple[int, ...] = (2, 2),
        stride: int | Sequence[int] | None = None,
        dilation: int | Sequence[int] = 1,
        padding: int | tuple[int, ...] = 0,
        output_size: Sequence[int] | None = None,
    ) -> Self:
        """Return zeros with the values of self at the positions that `max_pool2d` returned.

        Args:
            indices: flat positions over the spatial axes.
            kernel_size: the size of the window.
            stride: the distance of windows, the kernel size unless given.
            dilation: the distance of values in a window.
            padding: how much was put around the values.
            output_size: the sizes of the result, computed unless given.

        Raises:
            ShapeError: `indices` has another shape than self.
        """
        self._same_kind(indices, "max_unpool2d")
        if self.ndim < len(_kernel_of("max_unpool2d", kernel_size)):
            raise ShapeError(f"max_unpool2d: kernel {kernel_size} for {shape_text(self.shape)}")
        if indices.shape != self.shape:
            raise ShapeError(
                f"max_unpool2d: indices of shape {shape_text(indices.shape)} for shape "
                f"{shape_text(self.shape)}"
            )
        kernel = _kernel_of("max_unpool2d", kernel_size)
        spatial = len(kernel)
        steps = repeat_to("max_unpool2d", kernel if stride is None else stride, spatial)
        gaps = repeat_to("max_unpool2d", dilation, spatial)
        pairs = spatial_padding("max_unpool2d", padding, spatial)
        if output_size is None:
            sizes = tuple(
                (count - 1) * step - before - after + gap * (taps - 1) + 1
                for count, step, (before, after), gap, taps in zip(
                    self.shape[-spatial:], steps, pairs, gaps, kernel, strict=True
                )
            )
        else:
            sizes = tuple(output_size)[-spatial:]
        lead = self.shape[:-spatial]
        flat = self.reshape((*lead, prod(self.shape[-spatial:])))
        places = indices.reshape(flat.shape)
        empty = self._const(0, self.dtype)._broadcast_to((*lead, prod(sizes)))
        return empty.scatter(len(lead), places, flat).reshape((*lead, *sizes))
