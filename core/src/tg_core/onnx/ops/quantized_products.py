"""Products of quantized matrices and convolutions of quantized images, summed in int32."""

from __future__ import annotations

from typing import Literal

from tg_core.dtype import dtypes
from tg_core.onnx.ops.conv import conv
from tg_core.onnx.ops.quantize import quantized
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import sizes_of
from tg_core.onnx.values import Value
from tg_core.tensor import Tensor

__all__ = ["conv_integer", "matmul_integer", "qlinear_conv", "qlinear_matmul"]


def _centred(x: Tensor, zero_point: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return x as int32 with its zero point taken out."""
    wide = x.cast(dtypes.int32)
    if zero_point is None:
        return wide
    zero = zero_point.cast(dtypes.int32)
    return wide - (zero.reshape(()) if zero.numel() == 1 else zero.reshape(shape))


def _per_row(vector: Tensor) -> tuple[int, ...]:
    return sizes_of(vector) if vector.ndim > 1 else (-1, 1)


def _per_column(vector: Tensor) -> tuple[int, ...]:
    return sizes_of(vector) if vector.ndim > 1 else (1, -1)


@operator("MatMulInteger", since=10)
def matmul_integer(
    a: Tensor, b: Tensor, a_zero_point: Tensor | None = None, b_zero_point: Tensor | None = None
) -> Tensor:
    """Return the product of integer matrices as int32."""
    left = _centred(a, a_zero_point, () if a_zero_point is None else _per_row(a_zero_point))
    right = _centred(b, b_zero_point, () if b_zero_point is None else _per_column(b_zero_point))
    return left.matmul(right).cast(dtypes.int32)


@operator("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Tensor,
    a_scale: Tensor,
    a_zero_point: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Value,
) -> Value:
    """Return the product of quantized matrices, quantized."""
    total = matmul_integer(a, b, a_zero_point, b_zero_point)
    left = a_scale if a_scale.numel() == 1 else a_scale.reshape(_per_row(a_scale))
    right = b_scale if b_scale.numel() == 1 else b_scale.reshape(_per_column(b_scale))
    factor = _scalar(left).float() * _scalar(right).float() / _scalar(y_scale).float()
    return quantized(total.float() * factor, _scalar(y_zero_point.tensor), y_zero_point.element)


def _scalar(x: Tensor) -> Tensor:
    return x.reshape(()) if x.numel() == 1 else x


@operator("ConvInteger", since=10)
def conv_integer(
    x: Tensor,
    w: Tensor,
    x_zero_point: Tensor | None = None,
    w_zero_point: Tensor | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Return the convolution of integers as int32; padding counts as the zero point."""
    result = conv(
        _centred(x, x_zero_point, ()),
        _centred(w, w_zero_point, (-1, *(1,) * (w.ndim - 1))),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return result.cast(dtypes.int32)


@operator("QLinearConv", since=10)
def qlinear_conv(
    x: Tensor,
    x_scale: Tensor,
    x_zero_point: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero_point: Tensor,
    y_scale: Tensor,
    y_zero_point: Value,
    b: Tensor | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: tuple[int, ...] | None = None,
    group: int = 1,
    kernel_shape: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Value:
    """Return the convolution of quantized values, quantized."""
    total = conv_integer(
        x,
        w,
        x_zero_point,
        w_zero_point,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    channels = (1, -1, *(1,) * (x.ndim - 2))
    if b is not None:
        total = total + b.reshape(channels)
    scale = x_scale.reshape(()) * _along(w_scale, channels) / y_scale.reshape(())
    return quantized(
        total.float() * scale.float(), y_zero_point.tensor.reshape(()), y_zero_point.element
    )


def _along(scale: Tensor, shape: tuple[int, ...]) -> Tensor:
    return scale.reshape(()) if scale.numel() == 1 else scale.reshape(shape)
