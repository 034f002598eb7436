"""Attention with caches, windows and groups of heads.

Scores are summed and normalized in float32 where the inputs are narrower.
"""

from __future__ import annotations

import math

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.onnx.casting import element_of_code
from tg_core.onnx.registry import operator
from tg_core.onnx.sizes import size_of, sizes_of
from tg_core.tensor import Tensor

__all__ = ["attention"]

RAW, CAPPED, BIASED, WEIGHTS = range(4)
"""What `qk_matmul_output_mode` asks for."""


@operator("Attention", since=23)
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    nonpad_kv_seqlen: Tensor | None = None,
    *,
    is_causal: bool = False,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = RAW,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return averages of values, the caches with the new entries, and the scores asked for."""
    if (past_key is None) != (past_value is None):
        raise ShapeError("past_key and past_value must be given together")
    if not RAW <= qk_matmul_output_mode <= WEIGHTS:
        raise ShapeError(f"qk_matmul_output_mode {qk_matmul_output_mode}, expected 0 to 3")
    flat = q.ndim == 3
    query = _heads(q, q_num_heads)
    key, value = _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    offset: Tensor | int = 0
    if past_key is not None and past_value is not None:
        offset = size_of(past_key, 2)
        key, value = past_key.cat(key, dim=2), past_value.cat(value, dim=2)
    elif nonpad_kv_seqlen is not None:
        offset = nonpad_kv_seqlen.reshape((-1, 1, 1, 1)).cast(dtypes.int32) - size_of(query, 2)
    present_key, present_value = key, value
    groups = size_of(query, 1) // max(size_of(key, 1), 1)
    if groups > 1:
        key, value = (each.repeat_interleave(groups, dim=1) for each in (key, value))
    factor = 1 / math.sqrt(max(size_of(query, 3), 1)) if scale is None else scale
    wide = dtypes.float64 if q.dtype is dtypes.float64 else dtypes.float32
    stages = [query.cast(wide).matmul(key.cast(wide).transpose(2, 3)) * factor]
    stages.append((stages[RAW] / softcap).tanh() * softcap if softcap else stages[RAW])
    allowed = _allowed(stages[RAW], offset, is_causal, left_window_size, right_window_size)
    if nonpad_kv_seqlen is not None:
        filled = _columns(stages[RAW]) < nonpad_kv_seqlen.reshape((-1, 1, 1, 1)).cast(dtypes.int32)
        allowed = filled if allowed is None else allowed & filled
    stages.append(_biased(stages[CAPPED], attn_mask, allowed))
    exact = wide if softmax_precision is None else element_of_code(softmax_precision).dtype
    precise = wide if exact.bits < wide.bits else exact
    weights = _softmax(stages[BIASED].cast(precise))
    stages.append(weights)
    result = weights.cast(wide).matmul(value.cast(wide)).cast(q.dtype)
    if flat:
        result = result.transpose(1, 2).flatten(2)
    return result, present_key, present_value, stages[qk_matmul_output_mode].cast(q.dtype)


def _heads(x: Tensor, heads: int | None) -> Tensor:
    """Return (batch, heads, steps, features)."""
    if x.ndim == 4:
        return x
    if x.ndim != 3 or not heads:
        raise ShapeError(f"shape {x.shape} with {heads} heads")
    batch, steps, features = sizes_of(x)
    return x.reshape((batch, steps, heads, features // heads)).transpose(1, 2)


def _columns(scores: Tensor) -> Tensor:
    return Tensor.arange(size_of(scores, 3))


def _allowed(
    scores: Tensor, offset: Tensor | int, is_causal: bool, left: int, right: int
) -> Tensor | None:
    """Return where a query may look; it stands at its row after `offset` keys."""
    if is_causal:
        right = 0 if right < 0 else min(right, 0)
    if left < 0 and right < 0:
        return None
    rows = Tensor.arange(size_of(scores, 2)).reshape((-1, 1)) + offset
    ahead = _columns(scores) - rows
    allowed = None if right < 0 else ahead <= right
    if left >= 0:
        near = ahead >= -left
        allowed = near if allowed is None else allowed & near
    return allowed


def _biased(scores: Tensor, mask: Tensor | None, allowed: Tensor | None) -> Tensor:
    """Return scores with the mask added, and minus infinity where looking is not allowed."""
    if mask is not None:
        missing = size_of(scores, 3) - size_of(mask, -1)
        around = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
        if mask.dtype is dtypes.bool:
            scores = mask.pad(around).where(scores, -math.inf)
        else:
            scores = scores + mask.cast(scores.dtype).pad(around, value=-math.inf)
    return scores if allowed is None else allowed.where(scores, -math.inf)


def _softmax(scores: Tensor) -> Tensor:
    """Return the softmax of rows; 0 where all of a row is minus infinity."""
    top = scores.max(-1, keepdim=True).detach()
    powers = (scores - top.eq(-math.inf).where(0.0, top)).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.eq(0).where(1.0, total)
