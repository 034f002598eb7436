"""Positions of extrema, the softmax family, normalisations."""

import math

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_argmax_takes_the_first(axis: int | None) -> None:
    ties = np.random.default_rng(1).integers(0, 3, (4, 6))
    assert value(Tensor(ties).argmax(axis)).tolist() == ties.argmax(axis).tolist()
    assert value(Tensor(ties).argmin(axis)).tolist() == ties.argmin(axis).tolist()
    assert Tensor(ties).argmax(axis, keepdim=True).ndim == 2


def test_argmax_of_nan() -> None:
    x = [1.0, math.nan, 3.0, math.nan]
    assert value(Tensor(x).argmax()) == 1
    assert value(Tensor(x).argmin()) == 1
    with pytest.raises(ShapeError, match="no value"):
        Tensor.zeros(0).argmax()


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, -1])
def test_softmax_family(axis: int) -> None:
    x = Tensor(X)
    np.testing.assert_allclose(value(x.softmax(axis)), _softmax(X, axis), rtol=1e-5)
    np.testing.assert_allclose(value(x.softmin(axis)), _softmax(-X, axis), rtol=1e-5)
    wanted = np.log(_softmax(X, axis))
    np.testing.assert_allclose(value(x.log_softmax(axis)), wanted, rtol=1e-4, atol=1e-5)
    total = np.log(np.exp(X.astype(np.float64)).sum(axis))
    np.testing.assert_allclose(value(x.logsumexp(axis)), total, rtol=1e-5)


def test_extreme_scores() -> None:
    big = Tensor([1e4, 1e4, -1e4])
    np.testing.assert_allclose(value(big.softmax()), [0.5, 0.5, 0])
    np.testing.assert_allclose(value(big.logsumexp()), 1e4 + math.log(2))
    assert value(Tensor([-math.inf, -math.inf]).logsumexp()) == -math.inf
    assert value(Tensor([math.inf, 1.0]).logsumexp()) == math.inf
    assert Tensor([1.0, 2.0], dtype=dtypes.float16).softmax().dtype is dtypes.float16


def test_normalisations() -> None:
    wanted = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(value(Tensor(X).layernorm()), wanted, rtol=1e-4, atol=1e-5)
    for order in (1.0, 2.0, 3.0, math.inf):
        norm = (
            np.linalg.norm(X, ord=order, axis=1, keepdims=True)
            if order != 3
            else ((np.abs(X) ** 3).sum(1, keepdims=True) ** (1 / 3))
        )
        np.testing.assert_allclose(value(Tensor(X).normalize(order)), X / norm, rtol=1e-5)
    vectors = [np.random.default_rng(i).uniform(1, 2, 4).astype(np.float32) for i in range(4)]
    weight, bias, mean, scale = (v.reshape(1, 4, 1) for v in vectors)
    got = value(Tensor(X).batchnorm(*(Tensor(v) for v in vectors)))
    np.testing.assert_allclose(got, (X - mean) * weight * scale + bias, rtol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "layernorm", "softmin"])
def test_gradient(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    check_gradient(lambda a: getattr(a, name)(1), x)
