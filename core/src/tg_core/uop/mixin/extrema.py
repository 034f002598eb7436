"""Where the greatest and smallest values are; the softmax family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.dtype import DTypeLike, dtypes
from tg_core.uop.mixin.padding import PaddingMixin
from tg_core.uop.mixin.reduce import Axis
from tg_core.uop.mixin.shape_utils import resolve_axes, resolve_axis
from tg_core.uop.opcodes import Ops

if TYPE_CHECKING:
    from typing import Self


class ExtremaMixin(PaddingMixin):
    """`argmax argmin softmax log_softmax softmin logsumexp`."""

    __slots__ = ()

    def argmax(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Return the position of the greatest value, the first of several; NaN is the greatest.

        Args:
            axis: the axis to search, or None for the flattened values.
            keepdim: keep the axis with size 1.

        Raises:
            ShapeError: there is no value to choose from.
        """
        if axis is None:
            flat = self.flatten().argmax(0)
            return flat.reshape((1,) * self.ndim) if keepdim else flat
        where = resolve_axis("argmax", axis, self.ndim)
        value = self if self.ndim else self.reshape((1,))
        value._require_elements("argmax", (where,))
        best = value._reduce(Ops.MAX, (where,), True)
        hits = value.eq(best)
        if dtypes.is_float(value.dtype):
            hits = hits | value.isnan()
        # counting down from the size makes the first hit the greatest number
        down = self._const(0, dtypes.int32) - value._positions(where) + value.shape[where]
        first = hits.where(down, 0)._reduce(Ops.MAX, (where,), True)
        found = (0 - first + value.shape[where])._as(dtypes.default_int())
        if keepdim and self.ndim:
            return found
        return found.reshape(tuple(s for a, s in enumerate(value.shape) if a != where))

    def argmin(self, axis: int | None = None, keepdim: bool = False) -> Self:
        """Return the position of the smallest value, the first of several; NaN counts as smallest.

        Args:
            axis: the axis to search, or None for the flattened values.
            keepdim: keep the axis with size 1.
        """
        return self._reverse_order(self.dtype).argmax(axis, keepdim)

    def _shifted(self, axes: tuple[int, ...]) -> tuple[Self, Self]:
        """Return self in at least float32 less its maximum, and that maximum, which is finite."""
        value = self._wide()
        top = value._reduce(Ops.MAX, axes, True).detach()
        # a row of infinities would give inf - inf
        top = top.isinf().where(0.0, top) if axes else top
        return value - top, top

    def softmax(self, axis: int = -1, dtype: DTypeLike | None = None) -> Self:
        """Return the exponentials along `axis` divided by their sum.

        Args:
            axis: the axis that sums to 1.
            dtype: convert to this dtype first.
        """
        value = self if dtype is None else self.cast(dtype)
        axes = resolve_axes("softmax", axis, value.ndim)
        wide = value._wide()
        top = wide._reduce(Ops.MAX, axes, True).detach()
        powers = (wide - top).exp()
        return (powers / powers._reduce(Ops.ADD, axes, True))._narrow(value)

    def log_softmax(self, axis: int = -1, dtype: DTypeLike | None = None) -> Self:
        """Return the logarithm of `softmax`, computed without its overflow.

        Args:
            axis: the axis whose exponentials sum to 1.
            dtype: convert to this dtype first.
        """
        value = self if dtype is None else self.cast(dtype)
        axes = resolve_axes("log_softmax", axis, value.ndim)
        wide = value._wide()
        shifted = wide - wide._reduce(Ops.MAX, axes, True).detach()
        return (shifted - shifted.exp()._reduce(Ops.ADD, axes, True).log())._narrow(value)

    def softmin(self, axis: int = -1, dtype: DTypeLike | None = None) -> Self:
        """Return `softmax` of the negated values."""
        value = self if dtype is None else self.cast(dtype)
        return value.neg().softmax(axis)

    def logsumexp(self, axis: Axis = None, keepdim: bool = False) -> Self:
        """Return the logarithm of the sum of the exponentials, without overflow."""
        axes = resolve_axes("logsumexp", axis, self.ndim)
        if any(self.shape[a] == 0 for a in axes if isinstance(self.shape[a], int)):
            return self._wide()._reduce(Ops.ADD, axes, keepdim).log()._narrow(self)
        shifted, top = self._shifted(axes)
        total = shifted.exp()._reduce(Ops.ADD, axes, True).log() + top
        result = total._narrow(self)
        if keepdim:
            return result
        return result.reshape(tuple(s for a, s in enumerate(self.shape) if a not in axes))

    def normalize(self, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Self:
        """Return self divided by its p-norm along `dim`, which is taken as `eps` at least."""
        axes = resolve_axes("normalize", dim, self.ndim)
        value = self._wide()
        if p == math.inf:
            norm = value.abs()._reduce(Ops.MAX, axes, True)
        elif p == 0:
            norm = value.ne(0.0)._as(value.dtype)._reduce(Ops.ADD, axes, True)
        else:
            powers = value.square() if p == 2 else value.abs().pow(p)
            total = powers._reduce(Ops.ADD, axes, True)
            # a root has no slope at zero, so it stays away from there
            empty = total.eq(0.0)
            safe = empty.where(1.0, total)
            norm = empty.where(total, safe.sqrt() if p == 2 else safe.pow(1 / p))
        return (value / norm.maximum(eps))._narrow(self)

    def layernorm(self, axis: int | tuple[int, ...] = -1, eps: float = 1e-05) -> Self:
        """Return self with mean 0 and variance 1 along the axes."""
        axes = resolve_axes("layernorm", axis, self.ndim)
        value = self._wide()
        centred = value - value.mean(axes, keepdim=True)
        spread = centred.square().mean(axes, keepdim=True)
        return (centred * (spread + eps).rsqrt())._narrow(self)

    def batchnorm(
        self,
        weight: Self | None,
        bias: Self | None,
        mean: Self,
        invstd: Self,
        axis: int | tuple[int, ...] = 1,
    ) -> Self:
        """Return `(self - mean) * invstd * weight + bias`, the vectors laid along `axis`."""
        for vector in (weight, bias, mean, invstd):
            if vector is not None:
                self._same_kind(vector, "batchnorm")
        axes = resolve_axes("batchnorm", axis, self.ndim)
        shape = tuple(size if a in axes else 1 for a, size in enumerate(self.shape))
        result = self - mean.reshape(shape)
        if weight is not None:
            result = result * weight.reshape(shape)
        result = result * (invstd.reshape(shape) if invstd.ndim == len(axes) else invstd)
        return result if bias is None else result + bias.reshape(shape)
