"""Sorting and selecting by order. Ties keep the lowest index first; NaN is greater than all."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.scan import ScanMixin
from tg_core.uop.mixin.shape_utils import require_int, resolve_axis, shape_text
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self

COUNTING_LIMIT = 16384
"""Axes up to this size are sorted by counting how many values come before each.

The work is quadratic, but it is two kernels; the network behind it is some hundred.
"""
SELECTION_SIZE = 1024
"""From this size on, a few greatest values are found one after the other instead."""
SELECTION_LIMIT = 16
"""How many values are a few."""

T = TypeVar("T", bound="SortingMixin")


class SortingMixin(ScanMixin):
    """`sort argsort topk`."""

    __slots__ = ()

    def _before(self, other: Self, descending: bool) -> Self:
        """Return where self strictly precedes `other` by value."""
        first, second = (other, self) if descending else (self, other)
        less = first < second
        if dtypes.is_float(self.dtype):
            less = less | (second.isnan() & first.isnan().logical_not())
        return less

    def sort(self, dim: int = -1, descending: bool = False) -> tuple[Self, Self]:
        """Return the values along `dim` in order, and the positions they came from."""
        axis = resolve_axis("sort", dim, self.ndim)
        if not self.ndim:
            return self, self._const(0, dtypes.default_int())
        index = self._sorted_positions(axis, descending)
        return self.gather(axis, index), index._as(dtypes.default_int())

    def argsort(self, dim: int = -1, descending: bool = False) -> Self:
        """Return the positions along `dim` that put the values in order."""
        return self.sort(dim, descending)[1]

    def _sorted_positions(self, axis: int, descending: bool) -> Self:
        size = self.shape[axis]
        if not isinstance(size, int):
            raise ShapeError(f"sort: axis {axis} has the symbolic size {size}")
        if size <= 1:
            return self._const(0, dtypes.int32)._broadcast_to(self.shape)
        last = self.ndim - 1
        moved = self.detach().transpose(axis, last)
        if size <= COUNTING_LIMIT:
            found = moved._order_by_counting(descending)
        else:
            found = moved._order_by_network(descending)
        return found.transpose(axis, last)

    def _order_by_counting(self, descending: bool) -> Self:
        """Return the sorted positions along the last axis: each value goes to its rank."""
        size = self.shape[-1]
        mine, theirs = self.unsqueeze(-1), self.unsqueeze(-2)
        places = self._counting(size, dtypes.int32)
        earlier = places.unsqueeze(0) < places.unsqueeze(-1)
        same = theirs._before(mine, descending) | mine._before(theirs, descending)
        ahead = theirs._before(mine, descending) | (same.logical_not() & earlier)
        last = self.ndim
        rank = ahead._as(dtypes.int32)._reduce(Ops.ADD, (last,), False).contiguous()
        hits = rank.unsqueeze(-2).eq(places.unsqueeze(-1))
        return hits.where(places, 0)._reduce(Ops.ADD, (last,), False)

    def _order_by_network(self, descending: bool) -> Self:
        """Return the sorted positions along the last axis by a bitonic network."""
        size = static_size(self.shape[-1], "sort")
        length = 1 << (size - 1).bit_length()
        grow = [*[(0, 0)] * (self.ndim - 1), (0, length - size)]
        values = self.pad(grow).contiguous()
        # places beyond the size sort behind everything by their number
        index = self._counting(length, dtypes.int32)._broadcast_to(values.shape).contiguous()
        run = 2
        while run <= length:
            values, index = _exchange(values, index, run, True, size, descending)
            stride = run // 4
            while stride:
                values, index = _exchange(values, index, 2 * stride, False, size, descending)
                stride //= 2
            run *= 2
        return index._leading(self.ndim - 1, size)

    def topk(
        self, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True
    ) -> tuple[Self, Self]:
        """Return the k greatest (or smallest) values along `dim` in order, and their positions.

        Args:
            k: how many.
            dim: the axis.
            largest: the greatest rather than the smallest.
            sorted_: has no effect; the result is always in order.

        Raises:
            ShapeError: the axis has fewer than k values.
        """
        axis = resolve_axis("topk", dim, self.ndim)
        size = self.shape[axis] if self.ndim else 1
        k = require_int("topk", k)
        if not 0 <= k <= size:
            raise ShapeError(
                f"topk: {k} values of axis {axis} of size {size} of shape {shape_text(self.shape)}"
            )
        if not self.ndim:
            return self, self._const(0, dtypes.default_int())
        if k <= SELECTION_LIMIT and size > SELECTION_SIZE:
            index = self.detach()._select_positions(k, axis, largest)
        else:
            index = self._sorted_positions(axis, largest)._leading(axis, k)
        return self.gather(axis, index), index._as(dtypes.default_int())

    def _select_positions(self, k: int, axis: int, largest: bool) -> Self:
        value = self if largest else self._reverse_order(self.dtype)
        if dtypes.is_float(self.dtype) and not largest:
            value = value.isnan().where(dtypes.min(self.dtype), value)  # NaN comes last
        places = self._positions(axis)
        taken: Self | None = None
        found = []
        for _ in range(k):
            position = value._first_best(axis, taken)
            found.append(position)
            hit = places.eq(position)
            taken = hit if taken is None else (taken | hit).contiguous()
        return found[0].cat(*found[1:], dim=axis)

    def _first_best(self, axis: int, taken: Self | None) -> Self:
        """Return the first position of the greatest value that is not taken, keeping the axis."""
        size = self.shape[axis]
        lowest = self._const(dtypes.min(self.dtype), self.dtype)
        free = self if taken is None else taken.where(lowest, self)
        best = free._reduce(Ops.MAX, (axis,), True)
        hits = free.eq(best) | free.isnan()
        if taken is not None:
            hits = hits & taken.logical_not()
        down = 0 - self._positions(axis) + size
        first = hits.where(down, 0)._reduce(Ops.MAX, (axis,), True)
        return (0 - first + size).contiguous()


def _exchange(
    values: T,
    index: T,
    run: int,
    mirrored: bool,
    size: int,
    descending: bool,
) -> tuple[T, T]:
    """Compare the halves of every run and put the earlier value first.

    The first step of a merge compares mirrored places, which lets every run be in one direction.
    """
    half, axis = run // 2, values.ndim - 1
    halves = []
    for tensor in (values, index):
        runs = static_size(tensor.shape[axis], "sort") // run
        split = tensor.unflatten(axis, (runs, 2, half))
        low, high = (
            split._leading(axis + 1, 1),
            split.shrink([(1, 2) if a == axis + 1 else None for a in range(split.ndim)]),
        )
        halves.append((low, high.flip(axis + 2) if mirrored else high))
    (low, high), (low_index, high_index) = halves
    padding = (high_index < size).logical_not()
    low_padding = (low_index < size).logical_not()
    tie = (high._before(low, descending) | low._before(high, descending)).logical_not()
    ahead = high._before(low, descending) | (tie & (high_index < low_index))
    # padded places keep behind, whatever value they have
    swap = (low_padding & padding.logical_not()) | (
        padding.logical_not() & low_padding.logical_not() & ahead
    )
    results = []
    for first, second, tensor in ((low, high, values), (low_index, high_index, index)):
        front, back = swap.where(second, first), swap.where(first, second)
        joined = front.cat(back.flip(axis + 2) if mirrored else back, dim=axis + 1)
        results.append(joined.reshape(tensor.shape).contiguous())
    return results[0], results[1]
