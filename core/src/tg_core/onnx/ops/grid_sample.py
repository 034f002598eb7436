"""Reading images at fractional positions that a tensor names."""

from __future__ import annotations

import itertools
import math
from typing import Literal

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of, sizes_of
from tg_core.tensor import Tensor

__all__ = ["grid_sample", "sampled_linear"]

MAX_SPATIAL = 4

CUBIC_COEFF = -0.75
"""Source: Operators.md, GridSample: as in PyTorch."""


def _reflected(at: Tensor, size: int, align_corners: bool) -> Tensor:
    """Return positions mirrored at the borders until they lie inside."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return at * 0
    away = (at - low).abs()
    turns = (away / span).floor()
    rest = away - turns * span
    return (turns % 2).eq(0).where(rest, span - rest) + low


class _Source:
    """Images of shape (n, c, *sizes), read at one integer position for each axis."""

    def __init__(self, x: Tensor, padding_mode: str, align_corners: bool) -> None:
        self.sizes = sizes_of(x)[2:]
        self.flat = x.reshape((*x.shape[:2], math.prod(self.sizes)))
        self.padding_mode = padding_mode
        self.align_corners = align_corners

    def placed(self, at: Tensor, axis: int) -> Tensor:
        """Return positions brought inside, as the padding mode wants it."""
        size = self.sizes[axis]
        if self.padding_mode == "reflection":
            at = _reflected(at, size, self.align_corners)
        if self.padding_mode == "zeros":
            return at
        return at.clip(0, size - 1)

    def read(self, positions: list[Tensor]) -> Tensor:
        """Return the values at positions of shape (n, *counts) as (n, c, *counts); 0 outside."""
        flat, inside = None, None
        for size, at in zip(self.sizes, positions, strict=True):
            within = (at >= 0) & (at <= size - 1)
            step = at.clip(0, size - 1).cast(dtypes.int32)
            flat = step if flat is None else flat * size + step
            inside = within if inside is None else inside & within
        assert flat is not None
        assert inside is not None
        n, c = self.flat.shape[:2]
        counts = flat.shape[1:]
        index = flat.reshape((n, 1, math.prod(counts))).expand((n, c, math.prod(counts)))
        values = self.flat.gather(2, index).reshape((n, c, *counts))
        return inside.unsqueeze(1).where(values, 0)


def sampled_linear(source: _Source, positions: list[Tensor]) -> Tensor:
    """Return the mean of the neighbours of each position, weighted by distance."""
    lows = [at.floor() for at in positions]
    total = None
    for corner in itertools.product((0, 1), repeat=len(positions)):
        taps, weight = [], None
        for side, at, low in zip(corner, positions, lows, strict=True):
            taps.append(low + side)
            share = at - low if side else 1 - (at - low)
            weight = share if weight is None else weight * share
        assert weight is not None
        part = source.read(taps) * weight.unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total


def _cubic_shares(part: Tensor) -> list[Tensor]:
    """Return the weights of four neighbours, for the distance from the second."""
    a = CUBIC_COEFF
    shares = []
    for distance in (part + 1, part, 1 - part, 2 - part):
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((distance - 5) * distance + 8) * distance * a - 4 * a
        shares.append((distance <= 1).where(near, far))
    return shares


def _sampled_cubic(source: _Source, positions: list[Tensor]) -> Tensor:
    lows = [at.floor() for at in positions]
    shares = [_cubic_shares(at - low) for at, low in zip(positions, lows, strict=True)]
    total = None
    for corner in itertools.product(range(4), repeat=len(positions)):
        taps, weight = [], None
        for axis, tap in enumerate(corner):
            # every neighbour is brought inside by itself
            taps.append(source.placed(lows[axis] + (tap - 1), axis))
            share = shares[axis][tap]
            weight = share if weight is None else weight * share
        assert weight is not None
        part = source.read(taps) * weight.unsqueeze(1)
        total = part if total is None else total + part
    assert total is not None
    return total


def _sample(x: Tensor, grid: Tensor, align_corners: bool, mode: str, padding_mode: str) -> Tensor:
    """Read at positions between -1 and 1 in the last axis of the grid, fastest axis first."""
    spatial = x.ndim - 2
    if grid.ndim != x.ndim or grid.shape[-1] != spatial:
        raise ShapeError(f"shape {x.shape} with a grid of shape {grid.shape}")
    if spatial > MAX_SPATIAL:
        raise ShapeError(f"{spatial} spatial axes, at most {MAX_SPATIAL} are supported")
    source = _Source(x, padding_mode, align_corners)
    positions = []
    for axis, size in enumerate(source.sizes):
        unit = grid[..., spatial - 1 - axis]
        if align_corners:
            positions.append((unit + 1) / 2 * (size - 1))
        else:
            positions.append(((unit + 1) * size - 1) / 2)
    if mode == "cubic":
        return _sampled_cubic(source, positions).cast(x.dtype)
    positions = [source.placed(at, axis) for axis, at in enumerate(positions)]
    if mode == "nearest":
        return source.read([at.round() for at in positions])
    return sampled_linear(source, positions).cast(x.dtype)


@operator("GridSample", since=16)
def grid_sample_2d(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: bool = False,
    mode: Literal["bilinear", "nearest", "bicubic"] = "bilinear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
) -> Tensor:
    """Return the values of images at positions between -1 and 1."""
    name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return _sample(x, grid, align_corners, name, padding_mode)


@operator("GridSample", since=20)
def grid_sample(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: bool = False,
    mode: Literal["linear", "nearest", "cubic"] = "linear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
) -> Tensor:
    """Return the values of volumes of any rank at positions between -1 and 1."""
    return _sample(x, grid, align_corners, mode, padding_mode)


@operator("DeformConv", since=19)
def deform_conv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    offset_group: int = 1,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return a convolution whose taps are moved by offsets and weighted by a mask."""
    kernel = sizes_of(w)[2:]
    spatial = len(kernel)
    counts = sizes_of(offset)[2:]
    n, channels = sizes_of(x)[:2]
    steps, gaps = strides or (1,) * spatial, dilations or (1,) * spatial
    around = pads or (0,) * (2 * spatial)
    taps = math.prod(kernel)
    moves = offset.reshape((n, offset_group, taps, spatial, *counts))
    gate = None if mask is None else mask.reshape((n, offset_group, taps, *counts))
    share = channels // offset_group
    groups = []
    for number in range(offset_group):
        part = x[:, number * share : (number + 1) * share]
        source = _Source(part, "zeros", False)
        columns = []
        for tap, place in enumerate(itertools.product(*(range(size) for size in kernel))):
            positions = []
            for axis in range(spatial):
                shape = [1] * (spatial + 1)
                shape[axis + 1] = counts[axis]
                start = Tensor.arange(counts[axis]).reshape(tuple(shape)) * steps[axis]
                fixed = start + (place[axis] * gaps[axis] - around[axis])
                positions.append(moves[:, number, tap, axis] + fixed.cast(offset.dtype))
            value = sampled_linear(source, positions)
            columns.append(value if gate is None else value * gate[:, number, tap].unsqueeze(1))
        groups.append(columns[0].stack(*columns[1:], dim=2))
    gathered = groups[0].cat(*groups[1:], dim=1)
    # (n, group, in, taps, counts) with (group, out, in, taps)
    inputs = gathered.reshape((n, group, channels // group * taps, math.prod(counts)))
    weight = w.reshape((1, group, size_of(w, 0) // group, channels // group * taps))
    result = weight.matmul(inputs).reshape((n, w.shape[0], *counts))
    return result if b is None else result + b.reshape((1, -1, *(1,) * spatial))
