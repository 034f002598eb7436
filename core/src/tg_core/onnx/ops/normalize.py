"""Normalizations."""

from __future__ import annotations

import math

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.axes import place_of
from tg_core.onnx.casting import element_of_code
from tg_core.onnx.context import Context
from tg_core.onnx.kinds import Float, Int
from tg_core.onnx.registry import operator
from tg_core.tensor import Tensor

__all__ = ["batch_normalization", "layer_normalization"]

MAX_NEIGHBOURS = 4096


def _per_channel(x: Tensor, vector: Tensor) -> Tensor:
    return vector.reshape((1, -1, *(1,) * (x.ndim - 2)))


def _batch_normalized(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor, epsilon: float
) -> Tensor:
    """Normalize channels in the type of the statistics, which is at least that of x."""
    factor = scale / (var + epsilon).sqrt()
    offset = bias - mean * factor
    return (x * _per_channel(x, factor) + _per_channel(x, offset)).cast(x.dtype)


@operator("BatchNormalization")
def batch_normalization_legacy(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    epsilon: float = 1e-5,
    is_test: bool = True,
    momentum: float = 0.9,
    spatial: bool = True,
) -> Tensor:
    """Return x with the mean and variance of its channels taken out."""
    if not spatial:
        raise ShapeError("statistics of every value (spatial=0) are not supported")
    return _batch_normalized(x, scale, bias, mean, var, epsilon)


@operator("BatchNormalization", since=14)
def batch_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: bool = False,
) -> tuple[Tensor, ...]:
    """Return x with the mean and variance of its channels taken out; those of x in training."""
    if not training_mode:
        return (_batch_normalized(x, scale, bias, mean, var, epsilon),)
    axes = (0, *range(2, x.ndim))
    own_mean, own_var = x.mean(axes), x.var(axes, correction=0)
    result = _batch_normalized(x, scale, bias, own_mean, own_var, epsilon)
    return (
        result,
        mean * momentum + own_mean * (1 - momentum),
        var * momentum + own_var * (1 - momentum),
    )


def _standardized(
    x: Tensor, axes: tuple[int, ...], epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x with mean 0 and variance 1 over axes, its mean, and the inverse deviation."""
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    inverse = (centred.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return centred * inverse, mean, inverse


@operator("InstanceNormalization")
def instance_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5
) -> Tensor:
    """Return every channel of every batch entry with mean 0 and variance 1, scaled."""
    normal, _, _ = _standardized(x, tuple(range(2, x.ndim)), epsilon)
    return normal * _per_channel(x, scale) + _per_channel(x, bias)


@operator("LayerNormalization", since=17)
def layer_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x with mean 0 and variance 1 over the axes from `axis` on, scaled."""
    first = place_of(axis, x.ndim)
    wide = x.cast(element_of_code(stash_type).dtype)
    normal, mean, inverse = _standardized(wide, tuple(range(first, x.ndim)), epsilon)
    result = normal.cast(x.dtype) * scale
    return (result if bias is None else result + bias), mean, inverse


@operator("RMSNormalization", since=23)
def rms_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """Return x with mean square 1 over the axes from `axis` on, scaled."""
    first = place_of(axis, x.ndim)
    wide = x.cast(element_of_code(stash_type).dtype)
    axes = tuple(range(first, x.ndim))
    normal = wide * (wide.square().mean(axes, keepdim=True) + epsilon).rsqrt()
    return (normal.cast(x.dtype) * scale).cast(scale.dtype)


def _grouped(x: Tensor, groups: int, epsilon: float, stash_type: int) -> Tensor:
    wide = x.cast(element_of_code(stash_type).dtype)
    apart = wide.reshape((x.shape[0], groups, -1))
    normal, _, _ = _standardized(apart, (2,), epsilon)
    return normal.cast(x.dtype)


@operator("GroupNormalization", since=18)
def group_normalization_by_group(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5, num_groups: int
) -> Tensor:
    """Return groups of channels with mean 0 and variance 1, each with a scale and bias."""
    normal = _grouped(x, num_groups, epsilon, 1)
    return (normal * scale.reshape((1, -1, 1)) + bias.reshape((1, -1, 1))).reshape(x.shape)


@operator("GroupNormalization", since=21)
def group_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    epsilon: float = 1e-5,
    num_groups: int,
    stash_type: int = 1,
) -> Tensor:
    """Return groups of channels with mean 0 and variance 1, each channel with a scale and bias."""
    normal = _grouped(x, num_groups, epsilon, stash_type).reshape(x.shape)
    return normal * _per_channel(x, scale) + _per_channel(x, bias)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Return x with p-norm 1 along an axis; 0 where the norm is 0."""
    if p == 1:
        norm = x.abs().sum(axis, keepdim=True)
    else:
        norm = x.square().sum(axis, keepdim=True).sqrt()
    return norm.eq(0).where(0.0, x / norm.eq(0).where(1.0, norm))


@operator("LRN")
def local_response_normalization(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    """Return x divided by a power of the sum of squares of neighbouring channels."""
    if not 0 < size <= MAX_NEIGHBOURS:
        raise ShapeError(f"size {size}, expected 1 to {MAX_NEIGHBOURS}")
    before = (size - 1) // 2
    channels = x.shape[1]
    squares = x.square().pad([(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
    total = squares[:, :channels]
    for offset in range(1, size):
        total = total + squares[:, offset : offset + channels]
    return x / (total * (alpha / size) + bias).pow(beta)


@operator("MeanVarianceNormalization", since=9)
def mean_variance_normalization(x: Tensor, *, axes: tuple[int, ...] = (0, 2, 3)) -> Tensor:
    """Return x with mean 0 and variance 1 over axes."""
    centred = x - x.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True).sqrt() + 1e-9)


@operator("Dropout")
def dropout_legacy(
    x: Tensor, *, is_test: bool = False, ratio: float = 0.5, context: Context
) -> tuple[Tensor, ...]:
    """Return x: models are imported to be run, before version 12 nothing else is said."""
    mask = Tensor.ones(*x.shape, dtype=x.dtype if context.version < 10 else dtypes.bool)
    return x, mask


@operator("Dropout", since=12)
def dropout(
    x: Tensor,
    ratio: Float | None = None,
    training_mode: Int | None = None,
    *,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return x, with values dropped where the model asks for training, and what was kept."""
    share = 0.5 if ratio is None else ratio
    if not training_mode or share == 0:
        return x, Tensor.full(x.shape, True)
    if share == 1 or not math.isfinite(share):
        return x * 0, Tensor.full(x.shape, False)
    kept = Tensor.rand(*x.shape) >= share
    return kept.where(x / (1 - share), 0), kept
