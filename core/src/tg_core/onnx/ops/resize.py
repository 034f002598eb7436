"""Resizing, one axis after the other."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.axes import places_of
from tg_core.onnx.kinds import Floats, Ints
from tg_core.onnx.ops.resample import Filter, Resampling, source_positions, taps_of
from tg_core.onnx.ops.slicing import take
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import check_count, size_of
from tg_core.tensor import Tensor

__all__ = ["resize"]


@operator("Upsample", since=7)
def upsample_by_attribute(
    x: Tensor, *, scales: tuple[float, ...], mode: Literal["nearest", "linear"] = "nearest"
) -> Tensor:
    """Return x resized by factors."""
    return resize_by_scales(x, scales, mode=mode)


@operator("Upsample", since=9)
def upsample(
    x: Tensor, scales: Floats, *, mode: Literal["nearest", "linear"] = "nearest"
) -> Tensor:
    """Return x resized by factors."""
    return resize_by_scales(x, scales, mode=mode)


@operator("Resize", since=10)
def resize_by_scales(
    x: Tensor, scales: Floats, *, mode: Literal["nearest", "linear"] = "nearest"
) -> Tensor:
    """Return x resized by factors; the first values stay where they are."""
    axes = tuple(range(x.ndim))
    plan = _plan(x, axes, scales, None, (), "stretch")
    return _resized(x, plan, Filter(mode, "floor"), "asymmetric", 0.0)


@operator("Resize", since=11)
def resize(
    x: Tensor,
    roi: Floats | None = None,
    scales: Floats | None = None,
    sizes: Ints | None = None,
    *,
    antialias: bool = False,
    axes: tuple[int, ...] | None = None,
    coordinate_transformation_mode: Literal[
        "align_corners",
        "asymmetric",
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "tf_crop_and_resize",
    ] = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = False,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch",
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    nearest_mode: Literal[
        "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"
    ] = "round_prefer_floor",
) -> Tensor:
    """Return x resized by factors or to sizes."""
    chosen = tuple(range(x.ndim)) if axes is None else places_of(axes, x.ndim)
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    plan = _plan(
        x,
        chosen,
        scales or None,
        sizes or None,
        roi or () if crops else (),
        keep_aspect_ratio_policy,
    )
    how = Filter(mode, nearest_mode, cubic_coeff_a, antialias, exclude_outside)
    return _resized(x, plan, how, coordinate_transformation_mode, extrapolation_value)


def _plan(
    x: Tensor,
    axes: tuple[int, ...],
    scales: tuple[float, ...] | None,
    sizes: tuple[int, ...] | None,
    roi: tuple[float, ...],
    policy: str,
) -> dict[int, Resampling]:
    """Return how each axis is resized.

    Raises:
        ShapeError: not exactly one of scales and sizes is given, or they do not fit the axes.
    """
    given = sizes if sizes is not None else scales
    if given is None or (scales and sizes) or len(given) != len(axes):
        raise ShapeError(f"scales {scales} and sizes {sizes} for axes {axes} of {x.shape}")
    if min(given, default=1) <= 0 or not all(math.isfinite(entry) for entry in given):
        raise ShapeError(f"scales {scales} and sizes {sizes} must be positive")
    if roi and len(roi) != 2 * len(axes):
        raise ShapeError(f"roi {roi} for axes {axes}")
    plan = {}
    lengths = [size_of(x, axis) for axis in axes]
    if sizes is not None and policy != "stretch":
        pick = min if policy == "not_larger" else max
        common = pick(size / length for size, length in zip(sizes, lengths, strict=True))
        scales = (common,) * len(axes)
    for number, (axis, size) in enumerate(zip(axes, lengths, strict=True)):
        start = roi[number] if roi else 0.0
        end = roi[number + len(axes)] if roi else 1.0
        if sizes is None:
            assert scales is not None
            scale = scales[number]
            length = math.floor(size * (end - start) * scale)
        elif policy == "stretch":
            length = sizes[number]
            scale = length / size
        else:
            assert scales is not None
            scale = scales[number]
            length = math.floor(scale * size + 0.5)
        check_count(length, "the new size")
        plan[axis] = Resampling(size, length, scale, start, end)
    return plan


def _resized(
    x: Tensor,
    plan: dict[int, Resampling],
    how: Filter,
    transformation: str,
    extrapolation: float,
) -> Tensor:
    floats = dtypes.is_float(x.dtype)
    exact = np.float64 if x.dtype is dtypes.float64 else np.float32
    result = x
    for axis, resampling in plan.items():
        whole = resampling.start == 0 and resampling.end == 1
        if resampling.scale == 1 and resampling.length == resampling.size and whole:
            continue
        positions = source_positions(resampling, transformation)
        index, weights = taps_of(positions, resampling.size, resampling.scale, how)
        behind = (1,) * (x.ndim - axis - 1)
        if how.mode == "nearest":
            result = take(result, axis, index[:, 0])
        else:
            wide = result if floats else result.float()
            total = None
            for tap in range(index.shape[1]):
                factor = Tensor(weights[:, tap].astype(exact)).cast(wide.dtype)
                part = take(wide, axis, index[:, tap]) * factor.reshape((-1, *behind))
                total = part if total is None else total + part
            assert total is not None
            result = total
        if transformation == "tf_crop_and_resize":
            outside = (positions < 0) | (positions > resampling.size - 1)
            if outside.any():
                mask = Tensor(outside).reshape((-1, *behind))
                result = mask.where(extrapolation, result)
    if result.dtype is not x.dtype:
        # integers round; what interpolation overshoots is clamped
        low, high = float(dtypes.min(x.dtype)), float(dtypes.max(x.dtype))
        result = result.round().clip(low, high).cast(x.dtype)
    return result
