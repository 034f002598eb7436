"""Regions of images: pooling inside of them, and choosing among them."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tg_core.onnx.kinds import Float, Int, Ints
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import sizes_of
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["max_roi_pool", "non_max_suppression", "roi_align"]


def _read(image: Tensor, rows: np.ndarray, columns: np.ndarray, greatest: bool) -> Tensor:
    """Return the values of an image of shape (c, h, w) between its pixels.

    Args:
        image: the image.
        rows: coordinates; 0 is read outside by more than one pixel.
        columns: coordinates.
        greatest: take the greatest of the weighted neighbours instead of their sum.
    """
    c, h, w = sizes_of(image)
    outside = (rows < -1) | (rows > h) | (columns < -1) | (columns > w)
    flat = image.reshape((c, h * w))
    y, x = np.clip(rows, 0, h - 1), np.clip(columns, 0, w - 1)
    top, left = np.floor(y), np.floor(x)
    total = None
    for down in (0, 1):
        for right in (0, 1):
            share = np.abs(1 - down - (y - top)) * np.abs(1 - right - (x - left))
            share = np.where(outside, 0, share)
            at = np.minimum(top + down, h - 1) * w + np.minimum(left + right, w - 1)
            picked = flat[:, Tensor(at.astype(np.int32))]
            part = picked * Tensor(share.astype(np.float32)).cast(image.dtype)
            if total is None:
                total = part
            else:
                total = total.maximum(part) if greatest else total + part
    assert total is not None
    return total


@operator("RoiAlign", since=10)
def roi_align_unshifted(
    x: Tensor,
    rois: Value,
    batch_indices: Ints,
    *,
    mode: Literal["avg", "max"] = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Return regions as images of one size, with corners at the corners of pixels."""
    return roi_align(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@operator("RoiAlign", since=16)
def roi_align(
    x: Tensor,
    rois: Value,
    batch_indices: Ints,
    *,
    coordinate_transformation_mode: Literal["half_pixel", "output_half_pixel"] = "half_pixel",
    mode: Literal["avg", "max"] = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Return regions as images of one size, each value from a grid of samples.

    Regions that a device computes are realized: the size of the grids depends on them.
    """
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    pooled = []
    for batch, (x1, y1, x2, y2) in zip(batch_indices, rois.array(), strict=True):
        left, top = x1 * spatial_scale - shift, y1 * spatial_scale - shift
        width = x2 * spatial_scale - shift - left
        height = y2 * spatial_scale - shift - top
        if not shift:
            width, height = max(width, 1.0), max(height, 1.0)
        down = sampling_ratio or math.ceil(height / output_height)
        across = sampling_ratio or math.ceil(width / output_width)
        if down < 1 or across < 1:
            # a region without extent has no samples
            nothing = Tensor.zeros(x.shape[1], output_height, output_width, dtype=x.dtype)
            pooled.append(nothing)
            continue
        rows = top + (np.arange(output_height * down) + 0.5) * height / (output_height * down)
        columns = left + (np.arange(output_width * across) + 0.5) * width / (output_width * across)
        grid = np.meshgrid(rows, columns, indexing="ij")
        shape = (x.shape[1], output_height, down, output_width, across)
        read = _read(x[batch], grid[0].reshape(-1), grid[1].reshape(-1), mode == "max")
        parts = read.reshape(shape)
        pooled.append(parts.mean((2, 4)) if mode == "avg" else parts.max((2, 4)))
    if not pooled:
        return Tensor.zeros(0, x.shape[1], output_height, output_width, dtype=x.dtype)
    return pooled[0].stack(*pooled[1:])


@operator("MaxRoiPool")
def max_roi_pool(
    x: Tensor, rois: Value, *, pooled_shape: tuple[int, ...], spatial_scale: float = 1.0
) -> Tensor:
    """Return the maxima of the parts of regions."""
    h, w = sizes_of(x)[2:]
    pooled = []
    for batch, *corners in rois.array():
        left, top, right, bottom = (math.floor(c * spatial_scale + 0.5) for c in corners)
        height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
        parts = []
        for i in range(pooled_shape[0]):
            y0 = min(max(math.floor(i * height / pooled_shape[0]) + top, 0), h)
            y1 = min(max(math.ceil((i + 1) * height / pooled_shape[0]) + top, 0), h)
            for j in range(pooled_shape[1]):
                x0 = min(max(math.floor(j * width / pooled_shape[1]) + left, 0), w)
                x1 = min(max(math.ceil((j + 1) * width / pooled_shape[1]) + left, 0), w)
                part = x[int(batch), :, y0:y1, x0:x1]
                empty = y1 <= y0 or x1 <= x0
                parts.append(Tensor.zeros(x.shape[1], dtype=x.dtype) if empty else part.max((1, 2)))
        pooled.append(parts[0].stack(*parts[1:], dim=1).reshape((x.shape[1], *pooled_shape)))
    return pooled[0].stack(*pooled[1:])


@operator("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Value,
    scores: Value,
    max_output_boxes_per_class: Int | None = None,
    iou_threshold: Float | None = None,
    score_threshold: Float | None = None,
    *,
    center_point_box: bool = False,
) -> Tensor:
    """Return (batch, class, box) of the best boxes that overlap no better one too much.

    Boxes and scores are realized: how many are chosen depends on them.
    """
    limit = max_output_boxes_per_class or 0
    chosen = []
    corners = _corners(boxes.array().astype(np.float64), center_point_box)
    values = scores.array()
    for batch in range(values.shape[0]):
        for kind in range(values.shape[1]):
            order = np.argsort(-values[batch, kind], kind="stable")
            kept: list[int] = []
            for box in order.tolist():
                if len(kept) >= limit:
                    break
                if score_threshold is not None and values[batch, kind, box] <= score_threshold:
                    break
                overlaps = _overlaps(corners[batch, box], corners[batch, kept])
                if not (overlaps > (iou_threshold or 0.0)).any():
                    kept.append(box)
            chosen += [(batch, kind, box) for box in kept]
    return Tensor(np.array(chosen, np.int64).reshape(-1, 3))


def _corners(boxes: np.ndarray, center_point_box: bool) -> np.ndarray:
    """Return boxes as least and greatest coordinates of both axes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if center_point_box:
        return np.concatenate([first - second / 2, first + second / 2], -1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the shares of intersection in union."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    areas = (others[:, 2:] - others[:, :2]).prod(-1) + (box[2:] - box[:2]).prod(-1)
    union = areas - common
    return np.where(union > 0, common / np.where(union > 0, union, 1), 0)
