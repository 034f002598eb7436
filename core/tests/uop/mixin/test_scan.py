"""Running reductions against numpy, on both sides of the block size."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.tensor import Tensor

SIZES = [1, 5, 256, 257, 700]


def draw(size: int) -> np.ndarray:
    return np.random.default_rng(size).standard_normal((2, size)).astype(np.float32)


@pytest.mark.parametrize("size", SIZES)
def test_sums_and_products(size: int) -> None:
    x = draw(size)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(value(Tensor(x).cumsum(1)), wide.cumsum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(value(Tensor(x).cumprod(1)), wide.cumprod(1), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(value(Tensor(x).cumsum(0)), wide.cumsum(0), rtol=1e-5, atol=1e-6)
    wanted = np.log(np.exp(wide).cumsum(1))
    np.testing.assert_allclose(value(Tensor(x).logcumsumexp(1)), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", SIZES)
def test_extrema(size: int) -> None:
    x = draw(size)
    values, places = (value(t) for t in Tensor(x).cummax(1))
    np.testing.assert_array_equal(values, np.maximum.accumulate(x, 1))
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)
    values, places = (value(t) for t in Tensor(x).cummin(1))
    np.testing.assert_array_equal(values, np.minimum.accumulate(x, 1))
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)


def test_dtypes_and_ties() -> None:
    assert Tensor([1, 2], dtype=dtypes.int8).cumsum().dtype is dtypes.int32
    assert value(Tensor(4, dtype=dtypes.int8).cumsum()) == 4
    assert value(Tensor([3, 3, 1, 3]).cummax()[1]).tolist() == [0, 1, 1, 3]
    assert Tensor.zeros(0).cumsum().shape == (0,)
    nan = value(Tensor([1.0, np.nan, 2.0]).cummax()[0])
    np.testing.assert_array_equal(nan, [1, np.nan, np.nan])


def test_gradient() -> None:
    x = np.random.default_rng(0).uniform(0.5, 2, (2, 5))
    check_gradient(lambda a: a.cumsum(1), x)
    check_gradient(lambda a: a.cumprod(1), x)
    check_gradient(lambda a: a.logcumsumexp(1), x)
