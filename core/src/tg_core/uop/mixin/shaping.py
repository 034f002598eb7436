"""Joining, splitting and repeating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.shape_utils import flatten_args, require_int, resolve_axis, shape_text
from tg_core.uop.mixin.windows import WindowsMixin
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint

MOST_JOINED = 32
"""Parts that are joined at once."""
GROUP = 16
"""Parts of a group of more than that."""


class ShapingMixin(WindowsMixin):
    """`cat stack split chunk repeat repeat_interleave roll `."""

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
            self._same_kind(part, "cat")
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
        joined: Self = _joined(kept, axis)
        return joined

    def stack(self, *args: Self, dim: int = 0) -> Self:
        """Return self and `args` along a new axis at `dim`.

        Raises:
            ShapeError: the shapes differ.
        """
        axis = resolve_axis("stack", dim, self.ndim, extra=1)
        for part in args:
            self._same_kind(part, "stack")
            if part.shape != self.shape:
                raise ShapeError(
                    f"stack: shapes {shape_text(self.shape)} and {shape_text(part.shape)} differ"
                )
        target = self._result_dtype(*(part.dtype for part in (self, *args)))
        return self._as(target)._stacked([part._as(target) for part in args], axis)

    def _stacked(self, others: Sequence[Self], axis: int) -> Self:
        stacked: Self = _joined([part.unsqueeze(0) for part in (self, *others)], 0)
        order = list(range(1, stacked.ndim))
        order.insert(axis, 0)
        return stacked.permute(tuple(order))

    def _with_data(self, parts: Sequence[Self], axis: int) -> Sequence[Self]:
        """Return parts, self the first of them, with constants as data where there can be data."""
        return parts

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
        if not self.ndim:
            raise ShapeError("split: a scalar has no axis to split")
        if not isinstance(sizes, (tuple, list)):
            sizes = require_int("split", sizes)
        length = self.shape[axis]
        if not isinstance(length, int):
            raise ShapeError(f"split: axis {axis} has the symbolic size {length}")
        if isinstance(sizes, int):
            if sizes <= 0:
                raise ShapeError(f"split: the size must be positive, found {sizes}")
            lengths = [min(sizes, length - begin) for begin in range(0, max(length, 1), sizes)]
        else:
            lengths = [require_int("split", size) for size in sizes]
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
        if not self.ndim:
            raise ShapeError("chunk: a scalar has no axis to split")
        chunks = require_int("chunk", chunks)
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
        repeats = require_int("repeat_interleave", repeats)
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
        amounts = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
        axes = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
        amounts = tuple(require_int("roll", amount) for amount in amounts)
        if not self.ndim:
            return self
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


def _is_zero(size: Any) -> bool:
    return isinstance(size, int) and size == 0


def _without(shape: Sequence[sint], axis: int) -> tuple[sint, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _joined(parts: Sequence[Any], axis: int) -> Any:
    """Return the parts one after the other: very many in groups, which kernels of their own join.

    One kernel for all would choose from all of them for each element.
    """
    if len(parts) <= MOST_JOINED or not all(isinstance(p.shape[axis], int) for p in parts):
        return _sum_of_padded(parts, axis)
    parts = parts[0]._with_data(parts, axis)
    while len(parts) > MOST_JOINED:
        groups = [parts[i : i + GROUP] for i in range(0, len(parts), GROUP)]
        parts = [_sum_of_padded(group, axis).contiguous() for group in groups]
    return _sum_of_padded(parts, axis)


def _sum_of_padded(parts: Sequence[Any], axis: int) -> Any:
    """Return the parts, each at its own place along `axis`, joined as a balanced tree.

    Integers and bool are added up. Floats are chosen by place, as a sum would lose the sign of -0.
    """
    total: Any = parts[0].shape[axis]
    for part in parts[1:]:
        total = total + part.shape[axis]
    placed, begins, begin = [], [], 0 * parts[0].shape[axis]
    for part in parts:
        size = part.shape[axis]
        amounts = [(0, 0)] * part.ndim
        amounts[axis] = (begin, total - begin - size)
        placed.append(part._pad_zeros(amounts))
        begins.append(begin)
        begin = begin + size
    op = Ops.OR if parts[0].dtype is dtypes.bool else Ops.ADD
    place = placed[0]._positions(axis) if dtypes.is_float(parts[0].dtype) else None
    while len(placed) > 1:
        pairs = range(0, len(placed) - 1, 2)
        if place is None:
            joined = [placed[i]._apply(op, (placed[i + 1],)) for i in pairs]
        else:
            joined = [(place < begins[i + 1]).where(placed[i], placed[i + 1]) for i in pairs]
        placed = joined + placed[len(joined) * 2 :]
        begins = begins[::2]
    return placed[0]
