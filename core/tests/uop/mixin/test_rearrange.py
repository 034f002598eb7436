"""Axes named by formulas, resizing, and chains of functions."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

X = np.arange(24, dtype=np.float32).reshape(2, 6, 2)


@pytest.mark.parametrize(
    ("formula", "sizes", "wanted"),
    [
        ("b (h d) t -> b h t d", {"h": 2}, X.reshape(2, 2, 3, 2).transpose(0, 1, 3, 2)),
        ("... t -> t ...", {}, X.transpose(2, 0, 1)),
        ("b ... -> b (...)", {}, X.reshape(2, 12)),
        ("a b c -> (c a) 1 b", {}, X.transpose(2, 0, 1).reshape(4, 1, 6)),
        ("a b c -> (a b c)", {}, X.reshape(24)),
    ],
)
def test_rearrange(formula: str, sizes: dict[str, int], wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(value(Tensor(X).rearrange(formula, **sizes)), wanted)


@pytest.mark.parametrize(
    "formula",
    [
        "a b c",
        "a b -> a b",
        "a b c -> a b",
        "a a c -> a c",
        "a (b d) c -> a b d c",
        "a (b c -> a",
        "a b? c -> a",
    ],
)
def test_rearrange_errors(formula: str) -> None:
    with pytest.raises(ShapeError, match="rearrange"):
        Tensor(X).rearrange(formula)


@pytest.mark.parametrize("align", [False, True])
def test_linear_interpolation(align: bool) -> None:
    x = X.reshape(2, 1, 12)
    for size in (5, 24):
        at = np.arange(size)
        spot = at * 11 / (size - 1) if align else np.maximum((at + 0.5) * 12 / size - 0.5, 0)
        low = np.floor(spot).astype(int)
        high, weight = np.minimum(low + 1, 11), spot - low
        wanted = x[..., low] * (1 - weight) + x[..., high] * weight
        got = value(Tensor(x).interpolate((size,), align_corners=align))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_nearest_interpolation() -> None:
    x = X.reshape(1, 1, 4, 6)
    wanted = x[:, :, np.arange(8) // 2][:, :, :, np.arange(3) * 2]
    np.testing.assert_array_equal(value(Tensor(x).interpolate((8, 3), "nearest")), wanted)
    centre = x[..., np.minimum(((np.arange(4) + 0.5) * 1.5).astype(int), 5)]
    got = value(Tensor(x).interpolate((4, 4), "nearest-exact"))
    np.testing.assert_array_equal(got, centre)
    with pytest.raises(DTypeError, match="interpolate: mode"):
        Tensor(x).interpolate((2,), "cubic")
    with pytest.raises(ShapeError, match="interpolate: size"):
        Tensor(x).interpolate((2, 2, 2))


def test_gradient_and_sequential() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 4))
    check_gradient(lambda a: a.interpolate((7,)), x)
    assert value(Tensor([-1.0, 2.0]).sequential([Tensor.relu, Tensor.exp])).tolist()[0] == 1
