"""Pooling over windows, or over all spatial axes."""

from __future__ import annotations

import math
from typing import Literal

from tg_core.dtype import dtypes
from tg_core.onnx.context import Context
from tg_core.onnx.kinds import Ints
from tg_core.onnx.ops.windows import Windows, windows_of
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of, sizes_of
from tg_core.tensor import Tensor

__all__ = ["average_pool", "max_pool", "max_unpool"]


def _grown(x: Tensor, windows: Windows, value: float) -> Tensor:
    return x.pad([(0, 0), (0, 0), *windows.grown], value=value)


@operator("MaxPool")
def max_pool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: bool = False,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    storage_order: int = 0,
    strides: tuple[int, ...] | None = None,
    context: Context,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of every window, and on request where it is."""
    found = windows_of(
        sizes_of(x)[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    padded = _grown(x, found, dtypes.min(x.dtype))
    geometry = (found.kernel, found.strides, found.dilations)
    values: Tensor
    if not context.wants(1):
        values = padded.max_pool2d(*geometry)
        return values
    values, places = padded.max_pool2d(*geometry, return_indices=True)
    return values, _flat_places(x, places, sizes_of(padded)[2:], found, storage_order)


def _flat_places(
    x: Tensor, places: Tensor, grown: tuple[int, ...], windows: Windows, storage_order: int
) -> Tensor:
    """Return positions in all of x, from positions in the padded spatial axes."""
    rest = places.cast(dtypes.int64)
    coordinates: list[Tensor] = []
    for size, (before, _) in zip(grown[::-1], windows.grown[::-1], strict=True):
        coordinates.insert(0, rest % size - before)
        rest = rest // size
    axes = range(len(grown))
    flat = rest * 0
    for axis in axes if storage_order == 0 else reversed(axes):
        flat = flat * x.shape[2 + axis] + coordinates[axis]
    image = math.prod(sizes_of(x)[2:])
    count = size_of(x, 0) * size_of(x, 1)
    first = Tensor.arange(count, dtype=dtypes.int64) * image
    return flat + first.reshape((*x.shape[:2], *(1,) * len(grown)))


@operator("AveragePool")
def average_pool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the mean of every window; padding counts on request."""
    found = windows_of(
        sizes_of(x)[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    geometry = (found.kernel, found.strides, found.dilations)
    mean = _grown(x, found, 0.0).avg_pool2d(*geometry)
    if not any(map(any, found.grown)):
        return mean
    ones = Tensor.ones(*x.shape[2:], dtype=x.dtype)
    if count_include_pad:
        ones = ones.pad(list(found.pads), value=1.0).pad([(0, more) for more in found.hanging])
    else:
        ones = ones.pad(list(found.grown))
    return mean / ones.reshape((1, 1, *ones.shape)).avg_pool2d(*geometry)


@operator("LpPool")
def lp_pool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: bool = False,
    dilations: tuple[int, ...] | None = None,
    p: float = 2,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the p-norm of every window."""
    found = windows_of(
        sizes_of(x)[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    powers = _grown(x.abs().pow(p), found, 0.0)
    mean = powers.avg_pool2d(found.kernel, found.strides, found.dilations)
    return (mean * math.prod(found.kernel)).pow(1 / p)


def _spatial(x: Tensor) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    """Return the mean over all spatial axes."""
    return x.mean(_spatial(x), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Tensor) -> Tensor:
    """Return the maximum over all spatial axes."""
    return x.max(_spatial(x), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Tensor, *, p: float = 2) -> Tensor:
    """Return the p-norm over all spatial axes."""
    return x.abs().pow(p).sum(_spatial(x), keepdim=True).pow(1 / p)


@operator("MaxUnpool", since=9)
def max_unpool(
    x: Tensor,
    places: Tensor,
    output_shape: Ints | None = None,
    *,
    kernel_shape: tuple[int, ...],
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return zeros with the values of x where `max_pool` found them."""
    spatial = len(kernel_shape)
    steps = strides or (1,) * spatial
    around = pads or (0,) * (2 * spatial)
    inferred = tuple(
        (size - 1) * step + taps - before - after
        for size, step, taps, before, after in zip(
            sizes_of(x)[2:], steps, kernel_shape, around[:spatial], around[spatial:], strict=True
        )
    )
    pooled = (*sizes_of(x)[:2], *inferred)
    flat = Tensor.zeros(math.prod(pooled), dtype=x.dtype)
    written = flat.scatter(0, places.reshape((-1,)), x.reshape((-1,))).reshape(pooled)
    if output_shape is None or output_shape == pooled:
        return written
    return written.pad([(0, want - have) for have, want in zip(pooled, output_shape, strict=True)])
