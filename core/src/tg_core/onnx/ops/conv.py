"""Convolutions."""

from __future__ import annotations

from typing import Literal

from tg_core.errors import ShapeError
from tg_core.onnx.kinds import Ints
from tg_core.onnx.ops.windows import per_axis, windows_of
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of, sizes_of
from tg_core.tensor import Tensor

__all__ = ["col2im", "conv", "conv_transpose"]


@operator("Conv")
def conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the cross-correlation with a weight of shape (out, in / group, *kernel)."""
    kernel = sizes_of(w)[2:]
    if kernel_shape is not None and kernel_shape != kernel:
        raise ShapeError(f"kernel_shape {kernel_shape} with a weight of shape {w.shape}")
    found = windows_of(
        sizes_of(x)[2:], kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad
    )
    padded = x.pad([(0, 0), (0, 0), *found.pads])
    return padded.conv2d(w, b, group, found.strides, found.dilations)


@operator("ConvTranspose")
def conv_transpose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    output_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the transpose of `conv`, with a weight of shape (in, out / group, *kernel)."""
    kernel = sizes_of(w)[2:]
    spatial = len(kernel)
    if kernel_shape is not None and kernel_shape != kernel:
        raise ShapeError(f"kernel_shape {kernel_shape} with a weight of shape {w.shape}")
    steps = per_axis(strides, spatial, "strides")
    gaps = per_axis(dilations, spatial, "dilations")
    more = output_padding or (0,) * spatial
    given = pads or (0,) * (2 * spatial)
    cuts = []
    for axis in range(spatial):
        size = size_of(x, 2 + axis)
        full = steps[axis] * (size - 1) + gaps[axis] * (kernel[axis] - 1) + 1 + more[axis]
        wanted = size * steps[axis] if auto_pad.startswith("SAME") else None
        if output_shape:
            wanted = output_shape[axis - spatial]
        if wanted is None:
            before, after = given[axis], given[axis + spatial]
        else:
            total = full - wanted
            half, rest = total // 2, total - total // 2
            before, after = (half, rest) if auto_pad != "SAME_LOWER" else (rest, half)
            if output_shape and auto_pad == "NOTSET":
                before, after = rest, half
        cuts.append((-before, more[axis] - after))
    result = x.conv_transpose2d(w, None, group, steps, gaps).pad([(0, 0), (0, 0), *cuts])
    return result if b is None else result + b.reshape((1, -1, *(1,) * spatial))


@operator("Col2Im", since=18)
def col2im(
    x: Tensor,
    image_shape: Ints,
    block_shape: Ints,
    *,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return an image as the sum of its blocks, the columns of x."""
    spatial = len(image_shape)
    found = windows_of(image_shape, block_shape, strides=strides, dilations=dilations, pads=pads)
    taps = 1
    for size in block_shape:
        taps *= size
    counts = tuple(
        (size + sum(pair) - gap * (length - 1) - 1) // step + 1
        for size, pair, gap, length, step in zip(
            image_shape, found.pads, found.dilations, block_shape, found.strides, strict=True
        )
    )
    channels = size_of(x, 1) // taps
    columns = x.reshape((x.shape[0], channels * taps, *counts))
    # the weight that puts the i-th value of a column at the i-th place of its block
    unit = Tensor.eye(taps, dtype=x.dtype).reshape((taps, 1, *block_shape))
    weight = unit.repeat((channels, *(1,) * (spatial + 1)))
    full = columns.conv_transpose2d(weight, None, channels, found.strides, found.dilations)
    cuts = [
        (-before, size - (length - before))
        for size, length, (before, _) in zip(image_shape, full.shape[2:], found.pads, strict=True)
    ]
    return full.pad([(0, 0), (0, 0), *cuts])
