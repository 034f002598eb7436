"""Windows along axes, from movement alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tg_core.errors import ShapeError
from tg_core.uop.mixin.indexing import IndexingMixin
from tg_core.uop.mixin.shape_utils import require_int, resolve_axis
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint


class WindowsMixin(IndexingMixin):
    """`unfold`, and the windows that convolution, pooling and scans reduce."""

    __slots__ = ()

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Return all windows of `size` along `dim`, `step` apart, as a new last axis.

        Raises:
            ShapeError: the window is larger than the axis, or the step not positive.
        """
        axis = resolve_axis("unfold", dim, self.ndim)
        size, step = require_int("unfold", size), require_int("unfold", step)
        if not self.ndim:
            raise ShapeError("unfold: a scalar has no axis")
        if step <= 0 or not 0 <= size <= self.shape[axis]:
            raise ShapeError(
                f"unfold: windows of {size} in steps of {step} along an axis of {self.shape[axis]}"
            )
        order = [a for a in range(self.ndim) if a != axis]
        windows = self.permute((*order, axis))._windows((size,), (step,), (1,))
        back = list(range(len(order)))
        back.insert(axis, len(order))
        return windows.permute((*back, self.ndim))

    def _windows(
        self, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
    ) -> Self:
        """Return the windows over the last axes: `(..., counts..., kernel...)`.

        Only movement: every axis is repeated, cut so that row k starts k * dilation later, and
        split into `kernel` rows.
        """
        spatial = len(kernel)
        lead = self.ndim - spatial
        result = self
        for number in range(spatial):
            axis = lead + 2 * number
            size, taps = static_size(result.shape[axis], "windows"), kernel[number]
            step, gap = stride[number], dilation[number]
            count = (size - gap * (taps - 1) - 1) // step + 1
            result = result._axis_windows(axis, taps, step, gap, count)
        # every axis became (kernel, count): bring counts forward
        heads = tuple(range(lead))
        counts = tuple(lead + 2 * number + 1 for number in range(spatial))
        taps_axes = tuple(lead + 2 * number for number in range(spatial))
        split_order = (*heads, *counts, *taps_axes)
        return result.permute(split_order)

    def _axis_windows(self, axis: int, taps: int, step: int, gap: int, count: int) -> Self:
        """Return the axis as two, tap and window: `[k, c]` is the value at `c * step + k * gap`."""
        size = static_size(self.shape[axis], "windows")
        head, tail = self.shape[:axis], self.shape[axis + 1 :]
        if gap == 1 and taps <= step:
            return self._split_windows(axis, taps, step, count)
        # rows of a pitch that is `gap` more than a multiple of the size: each starts `gap` later
        pitch = size * max(-(-(count * step - gap) // size), 1) + gap
        tiles = -(-taps * pitch // size)
        tiled = self.unsqueeze(axis).expand((*head, tiles, size, *tail)).flatten(axis, axis + 1)
        rows = tiled._leading(axis, taps * pitch).unflatten(axis, (taps, pitch))
        if step == 1:
            return rows._leading(axis + 1, count)
        cut = rows._leading(axis + 1, count * step).unflatten(axis + 1, (count, step))
        return cut._leading(axis + 2, 1).reshape((*head, taps, count, *tail))

    def _split_windows(self, axis: int, taps: int, step: int, count: int) -> Self:
        """Return windows that do not overlap: the axis is cut into pieces of `step`."""
        size = static_size(self.shape[axis], "windows")
        missing = max(count * step - size, 0)
        grown = self._pad_zeros([(0, missing if a == axis else 0) for a in range(self.ndim)])
        pieces = grown._leading(axis, count * step).unflatten(axis, (count, step))
        return pieces._leading(axis + 1, taps).transpose(axis, axis + 1)

    def _leading(self, axis: int, count: sint) -> Self:
        """Return the first `count` positions of an axis."""
        return self.shrink([(0, count) if a == axis else None for a in range(self.ndim)])
