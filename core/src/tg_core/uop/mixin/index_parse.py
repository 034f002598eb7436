"""What stands between the brackets of `x[...]`, checked and put into one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tg_core.dtype import dtypes
from tg_core.errors import IndexingError
from tg_core.support.frozen import frozen, frozen_identity
from tg_core.uop.mixin.shape_utils import shape_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.uop import sint


@frozen
class Span:
    """`count` positions of an axis from `start` on, `step` apart (negative: backwards)."""

    start: sint
    count: sint
    step: int = 1


@frozen
class Position:
    """One position of an axis, which disappears."""

    at: sint


@frozen
class NewAxis:
    """A new axis of size 1."""


@frozen_identity
class Lookup:
    """Positions of an axis given by an integer tensor."""

    index: Any
    axis: int
    """The axis, counted in what is indexed."""


IndexEntry: TypeAlias = Span | Position | NewAxis | Lookup


def has_advanced(entries: Sequence[IndexEntry]) -> bool:
    """Tell whether a tensor or a list is among the indices."""
    return any(isinstance(entry, Lookup) for entry in entries)


def parse_index(x: Any, indices: Any) -> list[IndexEntry]:
    """Return one entry for each axis of `x` and for each new axis, in order.

    Raises:
        IndexingError: an index is of a wrong type or out of range, or there are too many.
    """
    listed = list(indices) if isinstance(indices, tuple) else [indices]
    prepared = [_prepare(x, entry) for entry in listed]
    consumed = sum(_axes_of(entry) for entry in prepared)
    ellipses = sum(entry is Ellipsis for entry in prepared)
    if ellipses > 1:
        raise IndexingError("index: only one ellipsis is allowed")
    if consumed > x.ndim:
        raise IndexingError(
            f"index: {consumed} indices for {x.ndim} axes of shape {shape_text(x.shape)}"
        )
    if not ellipses:
        prepared.append(Ellipsis)
    entries: list[IndexEntry] = []
    axis = 0
    for entry in prepared:
        if entry is Ellipsis:
            for _ in range(x.ndim - consumed):
                entries.append(Span(0, x.shape[axis]))
                axis += 1
        elif entry is None:
            entries.append(NewAxis())
        elif _is_mask(entry):
            found = _mask_indices(x, entry, axis)
            entries.extend(Lookup(index, axis + number) for number, index in enumerate(found))
            axis += entry.ndim
        else:
            entries.append(_axis_entry(entry, axis, x.shape[axis]))
            axis += 1
    return entries


def _prepare(x: Any, entry: Any) -> Any:
    """Return an index with lists and arrays as tensors, and Python's integers as ints."""
    if entry is None or entry is Ellipsis or isinstance(entry, (slice, type(x))):
        return entry
    if isinstance(entry, bool):
        raise IndexingError(f"index: {entry} is no index, a mask needs an axis")
    if isinstance(entry, int):
        return entry
    if isinstance(entry, (list, tuple, range)):
        return x._index_tensor(list(entry))
    if hasattr(entry, "__array__") and getattr(entry, "shape", None) != ():
        return x._index_tensor(entry)
    if hasattr(entry, "vmin"):
        return entry  # a symbolic position
    if hasattr(entry, "__index__"):
        try:
            return entry.__index__()
        except TypeError as error:
            raise IndexingError(f"index: {entry!r} is no index: {error}") from error
    raise IndexingError(
        f"index: {entry!r} of type {type(entry).__name__} is no index, expected an int, a slice, "
        "None, an ellipsis, a list or an integer or bool tensor"
    )


def _is_mask(entry: Any) -> bool:
    return getattr(entry, "dtype", None) is dtypes.bool and hasattr(entry, "ndim")


def _axes_of(entry: Any) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if _is_mask(entry) else 1


def _mask_indices(x: Any, mask: Any, axis: int) -> tuple[Any, ...]:
    if not mask.ndim:
        raise IndexingError("index: a bool scalar is no index, a mask needs an axis")
    expected = tuple(x.shape[axis : axis + mask.ndim])
    if tuple(mask.shape) != expected:
        raise IndexingError(
            f"index: a mask of shape {shape_text(mask.shape)} does not fit axes of shape "
            f"{shape_text(expected)}"
        )
    indices: tuple[Any, ...] = x._mask_positions(mask)
    return indices


def _axis_entry(entry: Any, axis: int, size: sint) -> IndexEntry:
    if isinstance(entry, slice):
        return _span(entry, axis, size)
    if isinstance(entry, int):
        if isinstance(size, int) and not -size <= entry < size:
            raise IndexingError(f"index: {entry} is out of range for axis {axis} of size {size}")
        return Position(entry + size if entry < 0 else entry)
    if hasattr(entry, "vmin") and not entry.shape:
        if entry.vmin < 0 or (isinstance(size, int) and entry.vmax >= size):
            raise IndexingError(
                f"index: a position in [{entry.vmin}, {entry.vmax}] may be out of range for axis "
                f"{axis} of size {size}"
            )
        return Position(entry)
    if not dtypes.is_int(entry.dtype):
        raise IndexingError(
            f"index: a tensor of dtype {entry.dtype.name} is no index, expected integers or bool"
        )
    return Lookup(entry, axis)


def _span(entry: slice, axis: int, size: sint) -> Span:
    step = 1 if entry.step is None else entry.step
    if isinstance(step, bool) or not hasattr(step, "__index__") or isinstance(step, float):
        raise IndexingError(f"index: the step {step!r} of axis {axis} is no int")
    step = step.__index__()
    if step == 0:
        raise IndexingError(f"index: the step of axis {axis} must not be zero")
    bounds = (entry.start, entry.stop)
    if isinstance(size, int) and all(b is None or hasattr(b, "__index__") for b in bounds):
        try:
            start, stop, step = slice(*bounds, step).indices(size)
        except TypeError as error:
            raise IndexingError(f"index: {entry} of axis {axis}: {error}") from error
        count = len(range(start, stop, step))
        return Span(start if count else 0, count, step if count > 1 else 1)
    for bound in bounds:
        if isinstance(bound, float) or not (
            bound is None or hasattr(bound, "__index__") or hasattr(bound, "vmin")
        ):
            kind = type(bound).__name__
            raise IndexingError(f"index: {entry} of axis {axis} has a {kind} bound")
    if step != 1:
        raise IndexingError(f"index: a symbolic slice of axis {axis} takes step 1, found {step}")
    start = _symbolic_bound(entry.start, 0, size)
    stop = _symbolic_bound(entry.stop, size, size)
    from_zero = isinstance(start, int) and start == 0
    return Span(start, stop if from_zero else stop - start)


def _symbolic_bound(bound: Any, default: Any, size: sint) -> Any:
    if bound is None:
        return default
    return size + bound if isinstance(bound, int) and bound < 0 else bound
