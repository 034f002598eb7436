"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.uop.mixin.loss import LossMixin
from tg_core.uop.mixin.shape_utils import shape_text
from tg_core.uop.opcodes import Ops
from tg_core.uop.sizes import static_size

if TYPE_CHECKING:
    from typing import Self


class AttentionMixin(LossMixin):
    """`scaled_dot_product_attention`."""

    __slots__ = ()

    def scaled_dot_product_attention(
        self,
        key: Self,
        value: Self,
        attn_mask: Self | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> Self:
        """Return the values averaged by the softmax of `self @ key^T / sqrt(features)`.

        A query whose keys are all masked gives 0, and no gradient.

        Args:
            key: of shape (..., keys, features).
            value: of shape (..., keys, out).
            attn_mask: True where a key counts, or numbers added to the scores.
            dropout_p: how much of the weights is dropped in training.
            is_causal: query i sees keys 0 to i only.
            enable_gqa: keys and values have fewer heads (axis -3), each used by several queries.

        Raises:
            ShapeError: the shapes do not fit, or both masks are given.
        """
        for other in (key, value) if attn_mask is None else (key, value, attn_mask):
            self._same_kind(other, "attention")
        if is_causal and attn_mask is not None:
            raise ShapeError("attention: give either attn_mask or is_causal")
        if min(self.ndim, key.ndim, value.ndim) < 2 or self.shape[-1] != key.shape[-1]:
            raise ShapeError(
                f"attention: query {shape_text(self.shape)} does not fit key "
                f"{shape_text(key.shape)} and value {shape_text(value.shape)}"
            )
        if enable_gqa:
            heads, of_key, of_value = (
                static_size(each.shape[-3], "attention") for each in (self, key, value)
            )
            key = key.repeat_interleave(heads // of_key, dim=-3)
            value = value.repeat_interleave(heads // of_value, dim=-3)
        query = self._wide() * (1 / math.sqrt(static_size(self.shape[-1], "attention")))
        scores = query.dot(key._wide().transpose(-1, -2))
        if is_causal:
            rows, columns = scores._positions(scores.ndim - 2), scores._positions(scores.ndim - 1)
            attn_mask = columns <= rows
        if attn_mask is not None:
            if attn_mask.dtype is dtypes.bool:
                scores = attn_mask.where(scores, -math.inf)
            else:
                scores = scores + attn_mask
        weights = scores._masked_softmax()._as(self._result_dtype(self.dtype, value.dtype))
        return weights._dropped(dropout_p).dot(value)

    def _masked_softmax(self) -> Self:
        """Return the softmax of the last axis; 0 where the whole axis is minus infinity."""
        axes = (self.ndim - 1,)
        top = self._reduce(Ops.MAX, axes, True).detach()
        powers = (self - top.eq(-math.inf).where(0.0, top)).exp()
        total = powers._reduce(Ops.ADD, axes, True)
        return powers / total.eq(0.0).where(1.0, total)

    def _dropped(self, p: float) -> Self:
        """Return self with dropout in training; only tensors can draw random numbers."""
        dropout = getattr(self, "dropout", None)
        return self if dropout is None or p == 0 else dropout(p)
