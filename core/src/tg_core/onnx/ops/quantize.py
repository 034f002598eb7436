"""Quantization: linear, of whole tensors, along an axis, or in blocks."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.casting import converted, element_of_code
from tg_core.onnx.element_types import CODES, ElementType
from tg_core.onnx.registry import operator
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["dequantize_linear", "quantize_linear", "quantized", "spread_scale"]

_UINT8 = CODES[2]


def spread_scale(x: Tensor, scale: Tensor, axis: int, block_size: int) -> Tensor:
    """Return a scale or zero point shaped to broadcast with x.

    Raises:
        ShapeError: it fits neither all of x, nor an axis, nor blocks along it.
    """
    if scale.numel() == 1 and not block_size:
        return scale.reshape(())
    place = place_of(axis, x.ndim)
    if not block_size:
        if scale.ndim != 1 or scale.shape[0] != x.shape[place]:
            raise ShapeError(f"a scale of shape {scale.shape} along axis {axis} of {x.shape}")
        return scale.reshape((-1, *(1,) * (x.ndim - place - 1)))
    blocks = -(-x.shape[place] // block_size)
    if scale.ndim != x.ndim or scale.shape[place] != blocks:
        raise ShapeError(f"scales of shape {scale.shape} for blocks of {block_size} of {x.shape}")
    repeated = scale.repeat_interleave(block_size, dim=place)
    keep = [(0, size) for size in repeated.shape]
    keep[place] = (0, x.shape[place])
    return repeated.shrink(tuple(keep))


def quantized(
    scaled: Tensor, zero_point: Tensor | None, target: ElementType, saturate: bool = True
) -> Value:
    """Return scaled values rounded to a quantized type, ties to even, and clamped."""
    if dtypes.is_float(target.dtype):
        shifted = scaled if zero_point is None else scaled + zero_point.cast(scaled.dtype)
        return converted(shifted, target, saturate)
    limits = target.limits or (dtypes.min(target.dtype), dtypes.max(target.dtype))
    rounded = scaled.round()
    if zero_point is not None:
        rounded = rounded + zero_point.cast(rounded.dtype)
    inside = rounded.clip(float(limits[0]), float(limits[1]))
    # int32 holds every quantized type, and floats go to it by one instruction
    narrow = inside.cast(dtypes.int32).cast(target.dtype)
    return Value(narrow, element=target if target.is_narrow else None)


@operator("QuantizeLinear", since=10)
def quantize_linear(
    x: Tensor,
    y_scale: Value,
    y_zero_point: Value | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: bool = True,
) -> Value:
    """Return x / scale + zero point in the type of the zero point."""
    if y_zero_point is not None:
        target = y_zero_point.element
    else:
        target = element_of_code(output_dtype) if output_dtype else _UINT8
    if output_dtype and target.code != output_dtype:
        raise DTypeError(f"the zero point is {target.name}, output_dtype {output_dtype}")
    scale = spread_scale(x, y_scale.tensor, axis, block_size)
    if precision:
        wide = element_of_code(precision).dtype
    elif dtypes.is_int(x.dtype):
        wide = scale.dtype
    else:
        wide = scale.dtype if y_scale.element.name == "float8e8m0" else x.dtype
    narrow = wide.bits < 32 and not precision
    # narrow floats are divided in float32 and rounded once
    if narrow:
        scaled = (x.float() / scale.float()).cast(wide).float()
    else:
        scaled = x.cast(wide) / scale.cast(wide)
    zero = None
    if y_zero_point is not None:
        zero = spread_scale(x, y_zero_point.tensor, axis, block_size)
    return quantized(scaled, zero, target, saturate)


@operator("DequantizeLinear", since=10)
def dequantize_linear(
    x: Value,
    x_scale: Value,
    x_zero_point: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    """Return (x - zero point) * scale in the type of the scale."""
    values = x.tensor
    scale = spread_scale(values, x_scale.tensor, axis, block_size)
    if dtypes.is_float(values.dtype):
        centred = values.float()
        if x_zero_point is not None:
            centred = centred - spread_scale(values, x_zero_point, axis, block_size).float()
    else:
        # the difference of two int32 may not fit, as the format says
        centred = values.cast(dtypes.int32)
        if x_zero_point is not None:
            zero = spread_scale(values, x_zero_point, axis, block_size)
            centred = centred - zero.cast(dtypes.int32)
        centred = centred.cast(dtypes.float64 if scale.dtype is dtypes.float64 else dtypes.float32)
    wide = scale if scale.dtype is centred.dtype else scale.cast(centred.dtype)
    target = element_of_code(output_dtype).dtype if output_dtype else scale.dtype
    return (centred * wide).cast(target)


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Tensor) -> tuple[Value, Tensor, Tensor]:
    """Return x as uint8 over the range of its values and 0, with scale and zero point."""
    low, high = x.min().minimum(0.0), x.max().maximum(0.0)
    scale = (high - low) / 255
    safe = scale.eq(0).where(1.0, scale)
    zero = (-low / safe).round().clip(0, 255).cast(dtypes.uint8)
    return quantized(x / safe, zero, _UINT8), scale, zero
