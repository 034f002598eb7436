"""Attention against its formula, with masks that leave a query nothing to see."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)
Q = RNG.standard_normal((2, 3, 4)).astype(np.float32)
K = RNG.standard_normal((2, 5, 4)).astype(np.float32)
V = RNG.standard_normal((2, 5, 6)).astype(np.float32)


def attended(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = np.nan_to_num(powers / powers.sum(-1, keepdims=True))
    return weights @ values


def test_masks() -> None:
    scores = Q @ K.transpose(0, 2, 1) / 2
    q, k, v = Tensor(Q), Tensor(K), Tensor(V)
    np.testing.assert_allclose(
        value(q.scaled_dot_product_attention(k, v)), attended(scores, V), rtol=1e-4, atol=1e-5
    )
    mask = RNG.random((3, 5)) > 0.4
    mask[1] = False
    wanted = attended(np.where(mask, scores, -np.inf), V)
    got = value(q.scaled_dot_product_attention(k, v, attn_mask=Tensor(mask)))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    assert (got[:, 1] == 0).all()
    added = np.where(mask, 0.5, -np.inf).astype(np.float32)
    got = value(q.scaled_dot_product_attention(k, v, attn_mask=Tensor(added)))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_causal_and_grouped() -> None:
    scores = Q @ Q.transpose(0, 2, 1) / 2
    wanted = attended(np.where(np.tri(3, dtype=bool), scores, -np.inf), Q)
    got = value(Tensor(Q).scaled_dot_product_attention(Tensor(Q), Tensor(Q), is_causal=True))
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    heads = np.concatenate([Q, Q + 1])
    got = value(Tensor(heads).scaled_dot_product_attention(Tensor(K), Tensor(V), enable_gqa=True))
    scores = heads @ np.repeat(K, 2, 0).transpose(0, 2, 1) / 2
    np.testing.assert_allclose(got, attended(scores, np.repeat(V, 2, 0)), rtol=1e-4, atol=1e-5)


def test_gradient_and_errors() -> None:
    draw = np.random.default_rng(1).standard_normal
    check_gradient(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        draw((3, 2)), draw((3, 2)), draw((3, 2)),
    )  # fmt: skip
    with pytest.raises(ShapeError, match="either attn_mask or is_causal"):
        Tensor(Q).scaled_dot_product_attention(
            Tensor(Q), Tensor(Q), attn_mask=Tensor([True]), is_causal=True
        )
    with pytest.raises(ShapeError, match="does not fit key"):
        Tensor(Q).scaled_dot_product_attention(Tensor(V), Tensor(V))
