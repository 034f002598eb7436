"""Indices that come as data: lists, arrays and masks, whose values decide shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.config import CHECK_INDEX
from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, IndexingError, ShapeError
from tg_core.tensor.convert import bound_size
from tg_core.tensor.index_checks import mark_positions
from tg_core.uop.mixin.shape_utils import require_int, shape_text

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor


class IndexDataMethods:
    """What makes tensors of lists and masks between brackets, and the selections by mask."""

    __slots__ = ()

    def _index_tensor(self: Tensor, data: Any) -> Tensor:
        """Return a list or an array as an index.

        Raises:
            IndexingError: it holds anything but ints or bools.
        """
        if isinstance(data, list) and not data:
            return self._const(0, dtypes.int32)._broadcast_to((0,))
        try:
            index = type(self)(data, device=self.uop.device)
        except (ShapeError, TypeError) as error:
            raise IndexingError(f"index: {data!r} is no index: {error}") from error
        if not dtypes.is_int(index.dtype) and index.dtype is not dtypes.bool:
            raise IndexingError(
                f"index: a list of {index.dtype.name} is no index, expected ints or bools"
            )
        return index

    def _checked(self: Tensor, name: str, axis: int, size: Any) -> Tensor:
        if not CHECK_INDEX.value:
            return self
        limit = size if isinstance(size, int) else bound_size(size)
        return self._from_uop(mark_positions(self.uop, name, axis, limit))

    def _mask_positions(self: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Return the positions of the True values of a mask, which is computed to count them.

        Raises:
            IndexingError: a call is being captured, whose replays could not count again.
        """
        # imported where it is asked: a tensor alone loads no engine
        from tg_core.engine import capture

        if capture.capturing():
            raise IndexingError(
                f"index: the result of a mask of shape {shape_text(mask.shape)} has a size that "
                "depends on data, which a captured call cannot look at; use where() or "
                "masked_select(size=...)"
            )
        import numpy as np

        found = np.nonzero(mask.numpy().reshape(mask._int_shape()))
        return tuple(
            self._index_tensor(positions.astype(np.int32))
            if positions.size
            else self._const(0, dtypes.int32)._broadcast_to((0,))
            for positions in found
        )

    def masked_select(
        self: Tensor, mask: Tensor, size: int | None = None, fill_value: Any = 0
    ) -> Tensor:
        """Return the values where `mask` is True as a vector.

        Args:
            mask: a bool tensor that broadcasts with self.
            size: the length of the result, which then needs no data to be computed; what is
                missing is filled, what is too much is cut.
            fill_value: what fills.

        Raises:
            DTypeError: `mask` is no bool tensor.
            ShapeError: the shapes do not broadcast.
        """
        if self._same_kind(mask, "masked_select").dtype is not dtypes.bool:
            raise DTypeError(f"masked_select: the mask must be bool, found {mask.dtype.name}")
        values, where = self._aligned(mask)
        flat, chosen = values.flatten(), where.flatten()
        if size is None:
            return flat[chosen.contiguous()]
        return flat._compacted(chosen, size, fill_value)

    def _compacted(self: Tensor, chosen: Tensor, size: int, fill_value: Any) -> Tensor:
        """Return the first `size` chosen values of a vector, filled up."""
        size = require_int("size", size)
        place = chosen.cast(dtypes.int32).cumsum() - 1
        target = chosen.where(place, -1)
        slots = self.arange(size, dtype=dtypes.int32).unsqueeze(-1)
        hits = target.unsqueeze(0).eq(slots)
        picked = self.unsqueeze(0)._sum_where(hits, (size, self.shape[0]), 1)
        found = slots.squeeze(-1) < chosen.cast(dtypes.int32).sum()
        return found.where(picked, self._const(fill_value, self.dtype))

    def nonzero(self: Tensor, size: int | None = None, fill_value: Any = 0) -> Tensor:
        """Return the positions of the values that are not zero, one row for each.

        Args:
            size: how many rows, so that no data need be computed.
            fill_value: what fills missing rows.

        Raises:
            ShapeError: self is a scalar.
        """
        if not self.ndim:
            raise ShapeError(f"nonzero: expected an axis, found shape {shape_text(self.shape)}")
        mask = self.ne(0)
        columns = []
        for axis in range(self.ndim):
            positions = self._positions(axis)._broadcast_to(self.shape)
            columns.append(positions.masked_select(mask, size, fill_value))
        return columns[0].stack(*columns[1:], dim=1).cast(dtypes.default_int())
