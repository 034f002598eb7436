"""Activations with parameters."""

from __future__ import annotations

from typing import Literal

from tg_core.onnx.ops.binary import aligned_from
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["clip", "elu", "hard_sigmoid", "leaky_relu", "thresholded_relu"]


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """Return x where positive, alpha * x elsewhere."""
    return x.leaky_relu(alpha)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return x where positive, alpha * (exp(x) - 1) elsewhere."""
    return x.elu(alpha)


@operator("Celu", since=12)
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    return x.celu(alpha)


@operator("Selu", since=6)
def selu_scaled(
    x: Tensor, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323
) -> Tensor:
    """Return elu scaled by gamma."""
    return x.selu(alpha, gamma)


@operator("Selu", since=1)
def selu_first(x: Tensor, *, alpha: float = 1.6732, gamma: float = 1.0507) -> Tensor:
    """Return elu scaled by gamma; version 1 rounded the constants."""
    return x.selu(alpha, gamma)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """Return alpha * x + beta between 0 and 1."""
    return (x * alpha + beta).clip(0, 1)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return x where greater than alpha, 0 elsewhere."""
    return (x > alpha).where(x, 0)


@operator("Shrink", since=9)
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """Return x moved toward zero by the bias, 0 within lambd of it."""
    wide = x if x.is_floating_point() else x.float()
    moved = (wide > lambd).where(wide - bias, (wide < -lambd).where(wide + bias, 0.0))
    return moved.cast(x.dtype)


@operator("PRelu")
def prelu_aligned(x: Tensor, slope: Tensor) -> Tensor:
    """Return x where positive, slope * x elsewhere; the slope of one axis belongs to channels."""
    if slope.ndim == 1 and x.ndim > 1 and slope.shape[0] != 1:
        slope = aligned_from(x, slope, 1)
    return (x < 0).where(slope * x, x)


@operator("PRelu", since=7)
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """Return x where positive, slope * x elsewhere."""
    return (x < 0).where(slope * x, x)


@operator("Gelu", since=20)
def gelu(x: Tensor, *, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """Return x times the normal distribution function of x."""
    return x.gelu(approximate)


@operator("Swish", since=24)
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return x times the sigmoid of alpha * x."""
    return x * (x * alpha).sigmoid()


@operator("Clip")
def clip_attributes(
    x: Tensor,
    *,
    min: float = -3.4028234663852886e38,  # noqa: A002 - the name in files
    max: float = 3.4028234663852886e38,  # noqa: A002 - the name in files
) -> Tensor:
    """Return x between two numbers."""
    return x.maximum(min).minimum(max)


@operator("Clip", since=11)
def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """Return x between two scalars; the upper one where the lower one is greater."""
    if low is not None:
        x = x.maximum(low.reshape(()))
    return x if high is None else x.minimum(high.reshape(()))
