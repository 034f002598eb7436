"""Reading and replacing by index: slices, positions, and tensors of positions.

A lookup is a sum over the axis of the values whose position matches; index algebra turns it into
one load. Negative positions wrap once, positions out of range read 0 and write nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, IndexingError, ShapeError
from tg_core.uop.mixin.creation import CreationMixin
from tg_core.uop.mixin.index_parse import (
    IndexEntry,
    Lookup,
    NewAxis,
    Position,
    Span,
    has_advanced,
    parse_index,
)
from tg_core.uop.mixin.shape_utils import broadcast_shapes, prod, resolve_axis, shape_text
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self

    from tg_core.uop.uop import sint


class IndexingMixin(CreationMixin):
    """`x[...]`, `gather`, `one_hot`-based selection."""

    __slots__ = ()

    def _index_tensor(self, data: Any) -> Self:
        """Return a list or an array as an index."""
        raise IndexingError("index: lists and arrays index tensors only")

    def _mask_positions(self, mask: Self) -> tuple[Self, ...]:
        """Return the positions of the True values of a mask, one vector for each of its axes."""
        raise IndexingError(
            "index: the size of the result of a mask depends on its data; use where() or "
            "masked_select(size=...)"
        )

    def __getitem__(self, indices: Any) -> Self:
        """Return the part that the indices select.

        Raises:
            IndexingError: an index is malformed or out of range.
        """
        entries = parse_index(self, indices)
        view = self._basic_index(entries)
        if not has_advanced(entries):
            return view
        return view._lookup(result_entries(entries))

    def _basic_index(self, entries: Sequence[IndexEntry]) -> Self:
        """Apply slices, positions and new axes; axes with a lookup stay whole."""
        axes = [entry for entry in entries if not isinstance(entry, NewAxis)]
        ranges = []
        for entry, size in zip(axes, self.shape, strict=True):
            if isinstance(entry, Position):
                ranges.append((entry.at, entry.at + 1))
            elif isinstance(entry, Span):
                ranges.append(_covered(entry, size))
            else:
                ranges.append((0, size))
        view = self.shrink(tuple(ranges))
        for axis, (entry, (begin, _)) in enumerate(zip(axes, ranges, strict=True)):
            if isinstance(entry, Span) and entry.step != 1:
                view = view._every(axis, entry, begin)
        shape: list[sint] = []
        sizes = iter(view.shape)
        for part in entries:
            if isinstance(part, NewAxis):
                shape.append(1)
                continue
            size = next(sizes)
            if not isinstance(part, Position):
                shape.append(size)
        return view.reshape(tuple(shape))

    def _every(self, axis: int, span: Span, begin: Any) -> Self:
        """Keep every `step`-th position of the axis, which holds what `_covered` chose."""
        stride, view = abs(span.step), self
        if stride > 1:
            first = span.start if span.step > 0 else span.start + (span.count - 1) * span.step
            missing: Any = span.count * stride - view.shape[axis]
            if missing:
                view = view._pad_zeros([(0, missing if a == axis else 0) for a in range(view.ndim)])
            split = view.unflatten(axis, (span.count, stride))
            column = first - begin
            keep = [(0, size) for size in split.shape]
            keep[axis + 1] = (column, column + 1)
            view = split.shrink(tuple(keep)).flatten(axis, axis + 1)
        return view.flip(axis) if span.step < 0 else view

    # *** lookups ***

    def _checked(self, name: str, axis: int, size: sint) -> Self:
        """Return positions that are checked when they are used, where that can be and is asked
        for.
        """
        return self

    def _wrapped(self, name: str, axis: int, size: sint) -> Self:
        """Return positions with negative ones counted from the end.

        Args:
            name: the operation that uses them.
            axis: the axis they are positions of.
            size: its size.
        """
        return self._checked(name, axis, size)._counted_from_start(size)

    def _counted_from_start(self, size: sint) -> Self:
        if dtypes.is_unsigned(self.dtype):
            return self
        index = (
            self if dtypes.is_weak(self.dtype) or self.dtype.bits >= 32 else self._as(dtypes.int32)
        )
        if isinstance(size, int) and size > dtypes.max(dtypes.int32):
            index = index._as(dtypes.int64)
        return (index < 0).where(index + size, index)

    def _lookup(self, entries: Sequence[IndexEntry]) -> Self:
        """Apply the lookups, one entry for each axis of self."""
        axes = [axis for axis, entry in enumerate(entries) if isinstance(entry, Lookup)]
        lookups = [entry for entry in entries if isinstance(entry, Lookup)]
        position, shape = _destination(axes, lookups)
        source, combined = self._joined("index", axes, lookups, position)
        picked = source._pick(
            combined.flatten() if combined.ndim else combined.reshape((1,)), position
        )
        return picked.reshape((*picked.shape[:position], *shape, *picked.shape[position + 1 :]))

    def _joined(
        self, name: str, axes: list[int], lookups: list[Lookup], position: int
    ) -> tuple[Self, Self]:
        """Return self with the looked-up axes merged at `position`, and one index into them."""
        shape = broadcast_shapes("index", *(lookup.index.shape for lookup in lookups))
        sizes = [self.shape[axis] for axis in axes]
        rest = [axis for axis in range(self.ndim) if axis not in axes]
        order = (*rest[:position], *axes, *rest[position:])
        moved = self.permute(order)
        merged = moved.reshape(
            (*moved.shape[:position], prod(sizes), *moved.shape[position + len(axes) :])
        )
        wrapped: list[Self] = [
            lookup.index._wrapped(name, lookup.axis, size)
            for lookup, size in zip(lookups, sizes, strict=True)
        ]
        if len(wrapped) == 1:
            return merged, wrapped[0]
        total = prod(sizes)
        wide = isinstance(total, int) and total > dtypes.max(dtypes.int32)
        combined, valid = None, None
        for index, size in zip(wrapped, sizes, strict=True):
            placed = index._as(dtypes.int64 if wide else dtypes.int32)._broadcast_to(shape)
            inside = (placed >= 0) & (placed < size)
            combined = placed if combined is None else combined * size + placed
            valid = inside if valid is None else valid & inside
        assert combined is not None
        assert valid is not None
        return merged, valid.where(combined, -1)

    def _pick(self, index: Self, axis: int) -> Self:
        """Return the values at the positions in the vector `index` along `axis`; 0 outside."""
        size = self.shape[axis]
        matches = index._matches(size)
        lead, tail = self.shape[:axis], self.shape[axis + 1 :]
        count = index.shape[0]
        mask = matches.reshape((*(1,) * axis, count, size, *(1,) * len(tail)))
        return self.unsqueeze(axis)._sum_where(mask, (*lead, count, size, *tail), axis + 1)

    def _sum_where(self, mask: Self, shape: tuple[sint, ...], axis: int) -> Self:
        """Return the sum along `axis` of the values where `mask`; at most one is expected."""
        values = self._broadcast_to(shape)
        mask = mask._broadcast_to(shape)
        if self.dtype is dtypes.bool:
            return (mask & values)._reduce(Ops.MAX, (axis,), False)
        return mask.where(values, self._const(0, self.dtype))._reduce(Ops.ADD, (axis,), False)

    def gather(self, dim: int, index: Self) -> Self:
        """Return the values along `dim` at the positions in `index`, which has as many axes.

        Raises:
            DTypeError: `index` is no integer tensor.
            ShapeError: `index` has another number of axes, or is larger than self beside `dim`.
        """
        axis = resolve_axis("gather", dim, self.ndim)
        self._check_index("gather", axis, index)
        if not self.ndim:
            return self
        keep = tuple((0, size) if a != axis else None for a, size in enumerate(index.shape))
        size = self.shape[axis]
        mask = index._wrapped("gather", axis, size)._matches(size)
        # the looked-up axis goes last, a new one of size 1 takes its place
        ordered = self.shrink(keep).unsqueeze(-1).transpose(axis, self.ndim)
        return ordered._sum_where(mask, (*index.shape, size), self.ndim)

    def _check_index(self, name: str, axis: int, index: Self) -> None:
        self._same_kind(index, name)
        if not dtypes.is_int(index.dtype):
            raise DTypeError(
                f"{name}: the index must be an integer tensor, found {index.dtype.name}"
            )
        if index.ndim != self.ndim:
            raise ShapeError(
                f"{name}: index of shape {shape_text(index.shape)} for shape "
                f"{shape_text(self.shape)}, expected as many axes"
            )
        for other, (have, want) in enumerate(zip(self.shape, index.shape, strict=True)):
            if other != axis and isinstance(have, int) and isinstance(want, int) and want > have:
                raise ShapeError(
                    f"{name}: index of shape {shape_text(index.shape)} exceeds shape "
                    f"{shape_text(self.shape)} beside axis {axis}"
                )

    # *** replacing ***

    def _put(self, entries: Sequence[IndexEntry], value: Self) -> Self:
        """Return self, a view with one entry for each axis, with `value` at the looked-up places.

        The last of several writes to one place wins.
        """
        axes = [axis for axis, entry in enumerate(entries) if isinstance(entry, Lookup)]
        lookups = [entry for entry in entries if isinstance(entry, Lookup)]
        position, shape = _destination(axes, lookups)
        source, combined = self._joined("setitem", axes, lookups, position)
        index = combined._broadcast_to(shape).reshape((prod(shape),))
        lead, tail = source.shape[:position], source.shape[position + 1 :]
        placed = value._put_shape((*lead, *shape, *tail)).reshape((*lead, prod(shape), *tail))
        size = source.shape[position]
        last = index._matches(size)._last(index._positions(0).unsqueeze(-1), 0)
        chosen = placed._pick(last, position)
        written = (last >= 0).reshape((*(1,) * position, size, *(1,) * len(tail)))
        merged = written.where(chosen, source)
        rest = [axis for axis in range(self.ndim) if axis not in axes]
        order_of_axes = (*rest[:position], *axes, *rest[position:])
        unmerged = merged.reshape(tuple(self.shape[axis] for axis in order_of_axes))
        return unmerged.permute(tuple(order_of_axes.index(axis) for axis in range(self.ndim)))

    def _last(self, order: Self, axis: int) -> Self:
        """Return the greatest of `order` along an axis where self is True; negative where it
        nowhere is.
        """
        none = self._const(dtypes.min(order.dtype), order.dtype)
        return self.where(order, none)._reduce(Ops.MAX, (axis,), False)

    def _put_shape(self, shape: tuple[sint, ...]) -> Self:
        """Return a written value broadcast to the shape of the place.

        Raises:
            ShapeError: it does not broadcast.
        """
        own = self
        while own.ndim > len(shape) and isinstance(own.shape[0], int) and own.shape[0] == 1:
            own = own.reshape(own.shape[1:])
        if own.ndim > len(shape) or broadcast_shapes("setitem", own.shape, shape) != shape:
            raise ShapeError(
                f"setitem: a value of shape {shape_text(self.shape)} does not broadcast to "
                f"{shape_text(shape)}"
            )
        return own._broadcast_to(shape)


def result_entries(entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Return one entry for each axis that `_basic_index` leaves."""
    kept: list[IndexEntry] = []
    for entry in entries:
        if isinstance(entry, NewAxis):
            kept.append(Span(0, 1))
        elif not isinstance(entry, Position):
            kept.append(entry)
    return kept


def _destination(axes: list[int], lookups: list[Lookup]) -> tuple[int, tuple[sint, ...]]:
    """Return where the axes of the looked-up values go, and their sizes.

    Lookups side by side are replaced in place; lookups apart go to the front, as in PyTorch.
    """
    shape = broadcast_shapes("index", *(lookup.index.shape for lookup in lookups))
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    return (axes[0] if adjacent else 0), shape


def _covered(span: Span, size: sint) -> tuple[Any, Any]:
    """Return the part of the axis that holds the span; whole strides of it when there is room."""
    if span.step in (1, -1):
        if span.step == 1:
            return span.start, span.start + span.count
        return span.start - span.count + 1, span.start + 1
    stride = abs(span.step)
    first = span.start if span.step > 0 else span.start + (span.count - 1) * span.step
    after: Any = size - (first + (span.count - 1) * stride) - 1
    before = max(stride - 1 - after, 0)
    if before <= first:
        return first - before, first - before + span.count * stride
    return first, first + (span.count - 1) * stride + 1
