"""Joining, splitting, repeating and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.indexing import IndexingMixin
from tg_core.uop.mixin.shape_utils import flatten_args, resolve_axis, shape_text
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint

PAD_MODES = ("constant", "reflect", "replicate", "circular")


class ShapingMixin(IndexingMixin):
    """`cat stack split chunk repeat repeat_interleave roll unfold pad pad_to`."""

    __slots__ = ()

    # *** joining ***

    def cat(self, *args: Self, dim: int = 0) -> Self:
        """Return self and `args` one after the other along `dim`.

        Raises:
            ShapeError: the shapes differ beside `dim`.
        """
        parts = [self, *args]
        axis = resolve_axis("cat", dim, self.ndim)
        if not self.ndim:
            raise ShapeError("cat: scalars have no axis to join along, use stack")
        for part in args:
            same = part.ndim == self.ndim and all(
                a is b or a == b or other == axis
                for other, (a, b) in enumerate(zip(self.shape, part.shape, strict=True))
            )
            if not same:
                shapes = ", ".join(shape_text(entry.shape) for entry in parts)
                raise ShapeError(f"cat: shapes {shapes} differ beside axis {axis}")
        target = self._result_dtype(*(part.dtype for part in parts))
        kept = [part._as(target) for part in parts if not _is_zero(part.shape[axis])]
        if len(kept) <= 1:
            return kept[0] if kept else self._as(target)
        if all(isinstance(part.shape[axis], int) and part.shape[axis] == 1 for part in kept):
            # one node for any number of parts, however many there are
            dropped = [part.reshape(_without(part.shape, axis)) for part in kept]
            return dropped[0]._stacked(dropped[1:], axis)
        joined: Self = _sum_of_padded(kept, axis)
        return joined

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """Return self and `args` along a new axis at `dim`.

        Raises:
            ShapeError: the shapes differ.
        """
        axis = resolve_axis("stack", dim, self.ndim, extra=1)
        for part in args:
            if part.shape != self.shape:
                raise ShapeError(
                    f"stack: shapes {shape_text(self.shape)} and {shape_text(part.shape)} differ"
                )
        target = self._result_dtype(*(part.dtype for part in (self, *args)))
        return self._as(target)._stacked([part._as(target) for part in args], axis)

    def _stacked(self, others: Sequence[Self], axis: int) -> Self:
        stacked: Self = _sum_of_padded([part.unsqueeze(0) for part in (self, *others)], 0)
        order = list(range(1, stacked.ndim))
        order.insert(axis, 0)
        return stacked.permute(tuple(order))

    # *** splitting ***

    def split(self, sizes: int | Sequence[int], dim: int = 0) -> tuple[Self, ...]:
        """Return consecutive parts along `dim`.

        Args:
            sizes: the size of each part (the last may be smaller), or all sizes.
            dim: the axis.

        Raises:
            ShapeError: the sizes do not add up, or are not positive.
        """
        axis = resolve_axis("split", dim, self.ndim)
        length = self.shape[axis]
        if not isinstance(length, int):
            raise ShapeError(f"split: axis {axis} has the symbolic size {length}")
        if isinstance(sizes, int):
            if sizes <= 0:
                raise ShapeError(f"split: the size must be positive, found {sizes}")
            lengths = [min(sizes, length - begin) for begin in range(0, max(length, 1), sizes)]
        else:
            lengths = list(sizes)
            if sum(lengths) != length or any(size < 0 for size in lengths):
                raise ShapeError(f"split: sizes {lengths} do not add up to {length}")
        parts, begin = [], 0
        for size in lengths:
            keep: list[Any] = [None] * self.ndim
            keep[axis] = (begin, begin + size)
            parts.append(self.shrink(keep))
            begin += size
        return tuple(parts)

    def chunk(self, chunks: int, dim: int = 0) -> list[Self]:
        """Return at most `chunks` parts of one size along `dim`; the last may be smaller.

        Raises:
            ShapeError: `chunks` is not positive.
        """
        axis = resolve_axis("chunk", dim, self.ndim)
        if chunks <= 0:
            raise ShapeError(f"chunk: chunks must be positive, found {chunks}")
        length = self.shape[axis]
        if not isinstance(length, int):
            raise ShapeError(f"chunk: axis {axis} has the symbolic size {length}")
        size = -(-length // chunks)
        return list(self.split(size if size else [0] * chunks, axis))

    # *** repeating ***

    def repeat(self, repeats: Any, *args: Any) -> Self:
        """Return self tiled along every axis, new axes in front.

        Raises:
            ShapeError: there are fewer counts than axes, or a count is negative.
        """
        counts = flatten_args(repeats, args)
        if len(counts) < self.ndim or any(isinstance(c, int) and c < 0 for c in counts):
            raise ShapeError(
                f"repeat: expected at least {self.ndim} counts >= 0, found {shape_text(counts)}"
            )
        sizes = (1,) * (len(counts) - self.ndim) + tuple(self.shape)
        spread = self.reshape(tuple(entry for size in sizes for entry in (1, size)))
        tiled = spread.expand(
            tuple(e for count, size in zip(counts, sizes, strict=True) for e in (count, size))
        )
        return tiled.reshape(tuple(c * size for c, size in zip(counts, sizes, strict=True)))

    def repeat_interleave(self, repeats: int, dim: int | None = None) -> Self:
        """Return self with every element along `dim` repeated in place; flattened when None.

        Raises:
            ShapeError: `repeats` is negative.
        """
        if repeats < 0:
            raise ShapeError(f"repeat_interleave: repeats must not be negative, found {repeats}")
        value = self.flatten() if dim is None else self
        axis = resolve_axis("repeat_interleave", dim or 0, value.ndim)
        grown = list(value.shape)
        grown.insert(axis + 1, repeats)
        return value.unsqueeze(axis + 1).expand(tuple(grown)).flatten(axis, axis + 1)

    def roll(self, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Self:
        """Return self with the values moved along axes, around the end.

        Raises:
            ShapeError: the numbers of shifts and axes differ.
        """
        if dims is None:
            return self.flatten().roll(shifts, 0).reshape(self.shape)
        amounts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
        axes = (dims,) if isinstance(dims, int) else tuple(dims)
        if len(amounts) != len(axes):
            raise ShapeError(f"roll: {len(amounts)} shifts for {len(axes)} axes")
        result = self
        for amount, dim in zip(amounts, axes, strict=True):
            axis = resolve_axis("roll", dim, self.ndim)
            size = self.shape[axis]
            if not isinstance(size, int):
                raise ShapeError(f"roll: axis {axis} has the symbolic size {size}")
            moved = amount % size if size else 0
            if moved:
                first, second = result.split([size - moved, moved], axis)
                result = second.cat(first, dim=axis)
        return result

    def unfold(self, dim: int, size: int, step: int) -> Self:
        """Return all windows of `size` along `dim`, `step` apart, as a new last axis.

        Raises:
            ShapeError: the window is larger than the axis, or the step not positive.
        """
        axis = resolve_axis("unfold", dim, self.ndim)
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

    # *** padding ***

    def pad(self, padding: Sequence[Any], mode: str = "constant", value: Any = 0.0) -> Self:
        """Return self with values around it; negative amounts cut off.

        Args:
            padding: `(before, after)` or None for every axis, or a flat sequence of amounts that
                starts with the last axis.
            mode: `constant`, `reflect`, `replicate` or `circular`.
            value: what `constant` pads with.

        Raises:
            ShapeError: the padding does not fit the shape, or the mode is unknown.
        """
        if mode not in PAD_MODES:
            raise ShapeError(f"pad: mode must be one of {', '.join(PAD_MODES)}, found {mode!r}")
        pairs = self._pad_pairs(padding)
        if mode != "constant":
            return self._pad_mode(pairs, mode)
        cut = self.shrink(
            tuple(
                (-min(before, 0), size + min(after, 0))
                if _is_int(before) and _is_int(after)
                else (0, size)
                for (before, after), size in zip(pairs, self.shape, strict=True)
            )
        )
        grown = [
            tuple(max(amount, 0) if _is_int(amount) else amount for amount in pair)
            for pair in pairs
        ]
        padded = cut._pad_zeros(grown)
        if padded is cut or value == 0:
            return padded
        inside = self._const(True)._broadcast_to(cut.shape)._pad_zeros(grown)
        return inside.where(padded, self._const(value, self.dtype))

    def _pad_pairs(self, padding: Sequence[Any]) -> list[tuple[Any, Any]]:
        entries = list(padding)
        if all(entry is None or isinstance(entry, (tuple, list)) for entry in entries):
            if len(entries) != self.ndim or any(e is not None and len(e) != 2 for e in entries):
                raise ShapeError(
                    f"pad: expected {self.ndim} pairs for shape {shape_text(self.shape)}, "
                    f"found {padding}"
                )
            return [(0, 0) if entry is None else (entry[0], entry[1]) for entry in entries]
        if len(entries) % 2 or len(entries) > 2 * self.ndim:
            raise ShapeError(
                f"pad: expected up to {2 * self.ndim} amounts in pairs for shape "
                f"{shape_text(self.shape)}, found {padding}"
            )
        pairs = [(entries[i], entries[i + 1]) for i in range(0, len(entries), 2)]
        return [(0, 0)] * (self.ndim - len(pairs)) + pairs[::-1]

    def _pad_mode(self, pairs: list[tuple[int, int]], mode: str) -> Self:
        result = self
        for axis, (before, after) in enumerate(pairs):
            size = result.shape[axis]
            limit = size - 1 if mode == "reflect" else size
            if (mode != "replicate" and max(before, after) > limit) or (
                size == 0 and before + after
            ):
                raise ShapeError(f"pad: {mode} by ({before}, {after}) along an axis of size {size}")
            parts = [
                result._edge(axis, before, mode, True),
                result,
                result._edge(axis, after, mode, False),
            ]
            kept = [part for part in parts if part is not None]
            joined = kept[0].cat(*kept[1:], dim=axis) if len(kept) > 1 else kept[0]
            keep: list[Any] = [None] * self.ndim
            keep[axis] = (max(-before, 0), joined.shape[axis] - max(-after, 0))
            result = joined.shrink(keep)
        return result

    def _edge(self, axis: int, amount: int, mode: str, leading: bool) -> Self | None:
        """Return what goes before or after the axis."""
        if amount <= 0:
            return None
        size = self.shape[axis]
        keep: list[Any] = [None] * self.ndim
        if mode == "replicate":
            keep[axis] = (0, 1) if leading else (size - 1, size)
            grown = list(self.shape)
            grown[axis] = amount
            return self.shrink(keep).expand(tuple(grown))
        if mode == "circular":
            keep[axis] = (size - amount, size) if leading else (0, amount)
            return self.shrink(keep)
        keep[axis] = (1, amount + 1) if leading else (size - amount - 1, size - 1)
        return self.shrink(keep).flip(axis)

    def pad_to(self, shape: Any, *args: Any, value: Any = 0) -> Self:
        """Return self grown at the end of every axis to `shape`; None keeps an axis.

        Raises:
            ShapeError: an axis would shrink.
        """
        sizes = flatten_args(shape, args)
        if len(sizes) != self.ndim:
            raise ShapeError(
                f"pad_to: {shape_text(sizes)} does not fit shape {shape_text(self.shape)}"
            )
        pairs = [
            (0, 0 if size is None else size - have)
            for have, size in zip(self.shape, sizes, strict=True)
        ]
        if any(_is_int(after) and after < 0 for _, after in pairs):
            raise ShapeError(
                f"pad_to: shape {shape_text(self.shape)} does not grow to {shape_text(sizes)}"
            )
        return self.pad(pairs, value=value)


def _is_int(size: Any) -> bool:
    return isinstance(size, int)


def _is_zero(size: Any) -> bool:
    return isinstance(size, int) and size == 0


def _without(shape: Sequence[sint], axis: int) -> tuple[sint, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _sum_of_padded(parts: Sequence[Any], axis: int) -> Any:
    """Return the parts, each at its own place along `axis`, added up as a balanced tree."""
    total: Any = parts[0].shape[axis]
    for part in parts[1:]:
        total = total + part.shape[axis]
    placed, begin = [], 0 * parts[0].shape[axis]
    for part in parts:
        size = part.shape[axis]
        amounts = [(0, 0)] * part.ndim
        amounts[axis] = (begin, total - begin - size)
        placed.append(part._pad_zeros(amounts))
        begin = begin + size
    op = Ops.OR if parts[0].dtype is dtypes.bool else Ops.ADD
    while len(placed) > 1:
        joined = [placed[i]._apply(op, (placed[i + 1],)) for i in range(0, len(placed) - 1, 2)]
        placed = joined + placed[len(joined) * 2 :]
    return placed[0]
