"""Activation functions against their formulas, saturated ends included."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.tensor import Tensor

X = np.concatenate([np.linspace(-8, 8, 65), [-200.0, -90.0, 90.0, 200.0]])
ERF = np.vectorize(math.erf)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


def softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid": sigmoid,
    "logsigmoid": lambda x: -softplus(-x),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "softplus": softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: 1.0507 * np.where(x > 0, x, 1.67326 * np.expm1(np.minimum(x, 0))),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x * sigmoid(1.702 * x),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name: str) -> None:
    got = value(getattr(Tensor(X, dtype=dtypes.float32), name)())
    np.testing.assert_allclose(got, FORMULAS[name](X), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", FORMULAS)
def test_gradient(name: str) -> None:
    check_gradient(lambda a: getattr(a, name)(), np.array([-4.0, -0.7, 0.4, 1.3, 7.1]))


def test_smooth_ones_have_a_gradient_at_zero() -> None:
    for name in ("sigmoid", "softplus", "silu", "gelu", "mish", "logsigmoid", "quick_gelu"):
        check_gradient(lambda a, name=name: getattr(a, name)(), np.array([0.0]))


def test_exact_gelu_and_nan() -> None:
    got = value(Tensor(X, dtype=dtypes.float32).gelu("none"))
    np.testing.assert_allclose(got, X * 0.5 * (1 + ERF(X / math.sqrt(2))), rtol=1e-5, atol=1e-6)
    assert np.isnan(value(Tensor([math.nan]).relu())).all()
    with pytest.raises(DTypeError, match="approximate must be"):
        Tensor([1.0]).gelu("fast")


@pytest.mark.parametrize(
    ("name", "x", "slopes"),
    [
        ("elu", [0.0], [1.0]),
        ("celu", [0.0], [1.0]),
        ("selu", [0.0], [1.0507 * 1.67326]),
        ("relu", [0.0], [0.0]),
        ("relu6", [0.0, 6.0], [0.0, 0.0]),
        ("hardtanh", [-1.0, 1.0], [0.0, 0.0]),
        ("asinh", [0.0], [1.0]),
    ],
)
def test_gradient_at_kinks(name: str, x: list[float], slopes: list[float]) -> None:
    t = Tensor(x)
    (got,) = getattr(t, name)().sum().gradient(t)
    np.testing.assert_allclose(got.numpy(), slopes, rtol=1e-6)


def test_clamp_passes_gradients_at_its_limits() -> None:
    t = Tensor([-3.0, -2.0, 0.0, 1.0, 2.0])
    assert t.clamp(-2, 1).sum().gradient(t)[0].tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]
