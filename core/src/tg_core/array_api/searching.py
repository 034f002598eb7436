"""Finding positions of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.array_api.operands import array_of, pair
from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from tg_core.tensor import Tensor

COUNTING_LIMIT = 2048
"""Up to this many sorted values, those before a value are counted instead of bisected."""


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the position of the greatest value, the first of several or of NaN."""
    return array_of(x, "argmax").argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the position of the smallest value, the first of several or of NaN."""
    return array_of(x, "argmin").argmin(axis, keepdims)


def count_nonzero(
    x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Tensor:
    """Return how many values along the axes are not zero."""
    return array_of(x, "count_nonzero").ne(0).sum(axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the positions of the values that are not zero, one vector for each axis.

    The values are computed, as the shape of the result depends on them.

    Raises:
        ShapeError: x has no axis.
    """
    value = array_of(x, "nonzero")
    if not value.ndim:
        raise ShapeError("nonzero: expected at least one axis")
    found = value._mask_positions(value.ne(0))
    return tuple(places.cast(dtypes.default_int()) for places in found)


def searchsorted(
    x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return where values go into a sorted vector so that it stays sorted.

    Args:
        x1: the vector, sorted, or in the order that `sorter` tells.
        x2: the values, of any shape.
        side: `left` for the first of several places, `right` for the last.
        sorter: the positions that sort x1.

    Raises:
        ShapeError: x1 is no vector, or the side is unknown.
    """
    places, wanted = pair(
        array_of(x1, "searchsorted"), array_of(x2, "searchsorted"), "searchsorted"
    )
    if places.ndim != 1 or side not in ("left", "right"):
        raise ShapeError(
            f"searchsorted: expected a vector and a side left or right, found shape "
            f"{places.shape} and {side!r}"
        )
    if sorter is not None:
        order = array_of(sorter, "searchsorted")
        if not dtypes.is_int(order.dtype):
            raise DTypeError(f"searchsorted: the sorter must hold ints, found {order.dtype.name}")
        places = places[order]
    size = places._int_shape()[0]
    if size <= COUNTING_LIMIT:
        ahead: Tensor = _is_ahead(places, wanted.unsqueeze(-1), side)
        return ahead.cast(dtypes.default_int()).sum(-1)
    low = wanted.const_like(0, dtypes.int32)
    high = wanted.const_like(size, dtypes.int32)
    for _ in range(size.bit_length()):
        middle = (low + high) >> 1
        picked = places[middle.clamp(0, size - 1)]
        goes_up = _is_ahead(picked, wanted, side) & (low < high)
        low, high = (
            goes_up.where(middle + 1, low).contiguous(),
            goes_up.where(high, middle.minimum(high)).contiguous(),
        )
    return low.cast(dtypes.default_int())


def _is_ahead(place: Any, wanted: Any, side: str) -> Any:
    """Return where a sorted value comes before the place of a wanted one; NaN is the greatest."""
    if side == "left":
        less = place < wanted
        if dtypes.is_float(place.dtype):
            less = less | (wanted.isnan() & place.isnan().logical_not())
        return less
    more = wanted < place
    if dtypes.is_float(place.dtype):
        more = more | (place.isnan() & wanted.isnan().logical_not())
    return more.logical_not()
