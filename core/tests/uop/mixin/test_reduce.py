"""Reductions: values, dtypes they accumulate in, empty axes, gradients."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import IndexingError, ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
AXES = [None, 0, -1, (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_against_numpy(name: str, axis: int | tuple[int, ...] | None) -> None:
    options = {"ddof": 1} if name in ("var", "std") else {}
    wanted = getattr(np, name)(X.astype(np.float64), axis=axis, **options)
    np.testing.assert_allclose(value(getattr(Tensor(X), name)(axis)), wanted, rtol=1e-5, atol=1e-6)
    kept = getattr(Tensor(X), name)(axis, keepdim=True)
    assert kept.shape == getattr(np, name)(X, axis=axis, keepdims=True).shape


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (dtypes.bool, dtypes.int32),
        (dtypes.int8, dtypes.int32),
        (dtypes.uint8, dtypes.uint32),
        (dtypes.int64, dtypes.int64),
        (dtypes.float16, dtypes.float16),
    ],
)
def test_sum_dtype(dtype: object, wanted: object) -> None:
    assert Tensor([1, 0, 1], dtype=dtype).sum().dtype is wanted


def test_halves_accumulate_in_float32() -> None:
    x = Tensor([60.0] * 4096, dtype=dtypes.float16)
    assert value(x.mean()) == 60.0
    spread = Tensor([200.0] * 8 + [-200.0] * 8, dtype=dtypes.float16)
    assert value(spread.var(correction=0)) == 40000.0
    assert value(spread.std(correction=0)) == 200.0


def test_integer_mean_is_float() -> None:
    assert value(Tensor([1, 2]).mean()) == 1.5
    assert Tensor([True]).mean().dtype is dtypes.float32


def test_logical_reductions() -> None:
    x = np.array([[0, 1], [0, 0], [2, 3]])
    assert value(Tensor(x).any(1)).tolist() == x.any(1).tolist()
    assert value(Tensor(x).all(1)).tolist() == x.all(1).tolist()
    assert value(Tensor.zeros(0).all()) and not value(Tensor.zeros(0).any())


def test_nan_wins() -> None:
    x = Tensor([1.0, np.nan, 3.0])
    assert np.isnan(value(x.max())) and np.isnan(value(x.min()))


def test_empty_axes() -> None:
    assert value(Tensor.zeros(0, 3).sum(0)).tolist() == [0, 0, 0]
    assert value(Tensor.zeros(0, 3).prod(0)).tolist() == [1, 1, 1]
    with pytest.raises(ShapeError, match="no value to choose from"):
        Tensor.zeros(0, 3).max(0)


def test_axis_errors() -> None:
    with pytest.raises(IndexingError, match="out of range"):
        Tensor(X).sum(3)
    with pytest.raises(IndexingError, match="twice"):
        Tensor(X).sum((0, -3))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_gradient(name: str) -> None:
    x = np.random.default_rng(3).standard_normal((3, 4))
    check_gradient(lambda a: getattr(a, name)(1), x)


def test_gradient_of_product_with_zeros() -> None:
    check_gradient(lambda a: a.prod(1), np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1, 2, 3]]))
