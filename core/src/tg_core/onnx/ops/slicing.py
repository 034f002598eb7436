"""Slices and padding."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tg_core.errors import ShapeError
from tg_core.onnx.axes import places_of
from tg_core.onnx.kinds import Ints
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import check_count, size_of
from tg_core.tensor import Tensor

__all__ = ["pad", "slice_", "take"]


def take(x: Tensor, axis: int, positions: np.ndarray) -> Tensor:
    """Return the values at positions along an axis that are known and in range."""
    index = Tensor(positions.astype(np.int32))
    return x[(slice(None),) * axis + (index,)]


def _sliced(
    data: Tensor, starts: Ints, ends: Ints, axes: Ints | None, steps: Ints | None
) -> Tensor:
    chosen = tuple(range(len(starts))) if axes is None else axes
    strides = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(chosen) == len(strides) or 0 in strides:
        raise ShapeError(f"starts {starts}, ends {ends}, axes {axes}, steps {steps} do not fit")
    keep: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(chosen, starts, ends, strides, strict=True):
        size = size_of(data, axis)
        begin = min(max(start + size if start < 0 else start, 0), size)
        stop: int | None = min(max(end + size if end < 0 else end, -1), size)
        if step < 0:
            begin = min(begin, size - 1)
            # Python spells the place before the first element None
            stop = None if end < -size or stop == -1 else stop
            if size == 0 or start < -size:
                begin, stop, step = 0, 0, 1
        keep[axis] = slice(begin, max(stop, 0) if stop is not None else None, step)
    return data[tuple(keep)]


@operator("Slice", keeps_type=True)
def slice_by_attributes(
    data: Tensor,
    *,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the part between positions."""
    return _sliced(data, starts, ends, axes, None)


@operator("Slice", since=10, keeps_type=True)
def slice_(
    data: Tensor, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None
) -> Tensor:
    """Return the part between positions, in steps that may be negative."""
    return _sliced(data, starts, ends, axes, steps)


_NUMPY_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def _padded(x: Tensor, pads: Ints, mode: str, value: Tensor | float, axes: Ints | None) -> Tensor:
    chosen = tuple(range(x.ndim)) if axes is None else places_of(axes, x.ndim)
    if len(pads) != 2 * len(chosen):
        raise ShapeError(f"shape {x.shape} with pads {pads} of axes {chosen}")
    pairs = [(0, 0)] * x.ndim
    for number, axis in enumerate(chosen):
        pairs[axis] = (pads[number], pads[number + len(chosen)])
    if mode == "constant":
        if not isinstance(value, Tensor):
            return x.pad(pairs, value=value)
        inside = Tensor.full(x.shape, True).pad(pairs)
        return inside.where(x.pad(pairs), value.reshape(()))
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            size = size_of(x, axis)
            kept = np.arange(max(-before, 0), size - max(-after, 0))
            grown = (max(before, 0), max(after, 0))
            check_count(size + sum(grown), f"padding by {grown}")
            x = take(x, axis, np.pad(kept, grown, mode=_NUMPY_MODES[mode]))  # type: ignore[call-overload]
    return x


@operator("Pad")
def pad_by_paddings(
    x: Tensor,
    *,
    paddings: tuple[int, ...],
    mode: Literal["constant", "reflect", "edge"] = "constant",
    value: float = 0.0,
) -> Tensor:
    """Return x with values around it."""
    return _padded(x, paddings, mode, value, None)


@operator("Pad", since=2)
def pad_by_attributes(
    x: Tensor,
    *,
    pads: tuple[int, ...],
    mode: Literal["constant", "reflect", "edge"] = "constant",
    value: float = 0.0,
) -> Tensor:
    """Return x with values around it; negative amounts cut off."""
    return _padded(x, pads, mode, value, None)


@operator("Pad", since=11)
def pad(
    x: Tensor,
    pads: Ints,
    value: Tensor | None = None,
    axes: Ints | None = None,
    *,
    mode: Literal["constant", "reflect", "edge", "wrap"] = "constant",
) -> Tensor:
    """Return x with values around it; negative amounts cut off."""
    return _padded(x, pads, mode, 0.0 if value is None else value, axes)
