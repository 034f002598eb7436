"""Views of a storage by shape and strides, as movements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

__all__ = ["strided_view"]

MAX_ELEMENTS = 1 << 62


def strided_view(
    storage: Tensor, offset: int, shape: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """Return a view of a storage; nothing is copied.

    Args:
        storage: shape `(count,)`.
        offset: position of the first element.
        shape: sizes of the view.
        strides: distance of neighbours along each axis, in elements.

    Raises:
        ShapeError: sizes, strides or offset are negative, the view reaches beyond the storage, or
            two axes of it overlap.
    """
    (count,) = storage.shape
    assert isinstance(count, int)
    if len(shape) != len(strides) or offset < 0 or any(n < 0 for n in (*shape, *strides)):
        raise ShapeError(f"shape {shape} and strides {strides} at {offset} fit no view")
    elements = math.prod(shape)
    if elements >= MAX_ELEMENTS:
        raise ShapeError(f"shape {shape} has too many elements")
    if elements == 0:
        return Tensor.zeros(*shape, dtype=storage.dtype, device=storage.device)
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if last >= count:
        raise ShapeError(
            f"shape {shape} and strides {strides} at {offset} reach element {last} of {count}"
        )
    if _is_contiguous(shape, strides):
        return storage[offset : offset + elements].reshape(shape)
    # Axes that repeat one element or have only one are put in at the end.
    axes = [axis for axis, size in enumerate(shape) if size > 1 and strides[axis] > 0]
    axes.sort(key=lambda axis: -strides[axis])
    sizes = [shape[axis] for axis in axes]
    view = _split_rows(storage, offset, sizes, [strides[axis] for axis in axes])
    placed = view.permute([axes.index(axis) for axis in sorted(axes)])
    kept = [size if axis in axes else 1 for axis, size in enumerate(shape)]
    return placed.reshape(kept).expand(shape)


def _is_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def _split_rows(
    storage: Tensor, offset: int, sizes: Sequence[int], strides: Sequence[int]
) -> Tensor:
    """Split rows off the last axis, the longest stride first; returns shape `sizes`."""
    view, start, length = storage, offset, storage.shape[0]
    assert isinstance(length, int)
    for number, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        inner = zip(sizes[number + 1 :], strides[number + 1 :], strict=True)
        if sum((count - 1) * step for count, step in inner) >= stride:
            raise ShapeError(f"sizes {sizes} with strides {strides} overlap")
        lack = start + size * stride - length
        lead = [(0, 0)] * number
        if lack > 0:
            # The last row may end early; what is put in its place is cut off again below.
            view = view.pad([*lead, (0, lack)])
        whole = [(0, int(count)) for count in sizes[:number]]
        view = view.shrink([*whole, (start, start + size * stride)])
        view = view.reshape([*sizes[: number + 1], stride])
        start, length = 0, stride
    whole = [(0, count) for count in sizes]
    return view.shrink([*whole, (start, start + 1)]).reshape(list(sizes))
