"""Where resized axes read, and with which weights: numbers, computed while the graph is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = ["Filter", "Resampling", "cubic_weights", "source_positions", "taps_of"]

Positions: TypeAlias = np.ndarray
Weight: TypeAlias = Callable[[np.ndarray, float], np.ndarray]


@dataclass(frozen=True)
class Resampling:
    """How one axis is resized."""

    size: int
    """The old size."""
    length: int
    """The new size."""
    scale: float
    start: float = 0.0
    """Where the part that is read starts and ends, as a share of the axis."""
    end: float = 1.0

    @property
    def exact_length(self) -> float:
        """The new size before rounding."""
        return self.scale * self.size


@dataclass(frozen=True)
class Filter:
    """How values between positions are found."""

    mode: str
    """`nearest`, `linear` or `cubic`."""
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False


def _align_corners(r: Resampling, at: Positions) -> Positions:
    wide = r.exact_length
    return at * 0 if wide == 1 else at * (r.size - 1) / (wide - 1)


def _asymmetric(r: Resampling, at: Positions) -> Positions:
    return at / r.scale


def _half_pixel(r: Resampling, at: Positions) -> Positions:
    return (at + 0.5) / r.scale - 0.5


def _half_pixel_symmetric(r: Resampling, at: Positions) -> Positions:
    offset = r.size / 2 * (1 - r.length / r.exact_length)
    return offset + _half_pixel(r, at)


def _pytorch_half_pixel(r: Resampling, at: Positions) -> Positions:
    return at * 0 - 0.5 if r.exact_length == 1 else _half_pixel(r, at)


def _tf_crop_and_resize(r: Resampling, at: Positions) -> Positions:
    span = (r.end - r.start) * (r.size - 1)
    moved = at * 0 + span / 2 if r.exact_length == 1 else at * span / (r.exact_length - 1)
    return moved + r.start * (r.size - 1)


_TRANSFORMATIONS: Mapping[str, Callable[[Resampling, Positions], Positions]] = {
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_crop_and_resize": _tf_crop_and_resize,
}


def source_positions(resampling: Resampling, transformation: str) -> Positions:
    """Return for each new position where it lies in the old axis."""
    at = np.arange(resampling.length, dtype=np.float64)
    found: Positions = _TRANSFORMATIONS[transformation](resampling, at)
    return found


def _half_up(x: Positions) -> Positions:
    return np.floor(x + 0.5)


def _half_down(x: Positions) -> Positions:
    return np.ceil(x - 0.5)


_NEAREST: Mapping[str, Callable[[Positions], Positions]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": _half_up,
    "round_prefer_floor": _half_down,
}


def _linear_weights(distance: np.ndarray, _: float) -> np.ndarray:
    weights: np.ndarray = np.clip(1 - np.abs(distance), 0, None)
    return weights


def cubic_weights(distance: np.ndarray, a: float) -> np.ndarray:
    """Return the weights of cubic convolution.

    Source: R. Keys, Cubic Convolution Interpolation for Digital Image Processing, equation 4.
    """
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


_FILTERS: Mapping[str, tuple[int, Weight]] = {
    "cubic": (2, cubic_weights),
    "linear": (1, _linear_weights),
}
"""How far each filter reaches, and its weights by distance."""


def taps_of(
    positions: Positions, size: int, scale: float, how: Filter
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each new position the old ones that it reads and their weights."""
    if how.mode == "nearest":
        index = _NEAREST[how.nearest_mode](positions).astype(np.int64)
        return np.clip(index, 0, size - 1)[:, None], np.ones((len(positions), 1))
    reach, weight = _FILTERS[how.mode]
    shrink = min(scale, 1.0) if how.antialias else 1.0
    span = int(np.ceil(reach / shrink))
    offsets = np.arange(1 - span, span + 1)
    index = np.floor(positions).astype(np.int64)[:, None] + offsets
    weights = weight((index - positions[:, None]) * shrink, how.cubic_coeff)
    if how.exclude_outside:
        weights = np.where((index < 0) | (index >= size), 0, weights)
    if how.antialias or how.exclude_outside:
        weights = weights / weights.sum(1, keepdims=True)
    used = (weights != 0).any(0)
    return np.clip(index, 0, size - 1)[:, used], weights[:, used]
