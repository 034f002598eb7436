"""Scatter against loops in numpy."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 5)).astype(np.float32)
INDEX = RNG.integers(0, 3, (2, 4))
SOURCE = RNG.standard_normal((2, 5)).astype(np.float32)
REDUCE = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}


def test_last_write_wins() -> None:
    wanted = X.copy()
    for row in range(2):
        for column in range(4):
            wanted[INDEX[row, column], column] = SOURCE[row, column]
    got = Tensor(X).scatter(0, Tensor(INDEX), Tensor(SOURCE))
    np.testing.assert_array_equal(value(got), wanted)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", REDUCE)
def test_scatter_reduce(reduce: str, include_self: bool) -> None:
    wanted = X.copy()
    for row in range(3):
        for column in range(4):
            found = [SOURCE[i, column] for i in range(2) if INDEX[i, column] == row]
            if found:
                own = [X[row, column]] if include_self else []
                wanted[row, column] = REDUCE[reduce](own + found)
    got = Tensor(X).scatter_reduce(0, Tensor(INDEX), Tensor(SOURCE), reduce, include_self)
    np.testing.assert_allclose(value(got), wanted, rtol=1e-5)


def test_along_the_last_axis_with_scalars() -> None:
    index = Tensor([[1, 1, 9]])
    base = Tensor([[1.0, 2.0, 3.0]])
    assert value(base.scatter(1, index, 7.0)).tolist() == [[1, 7, 3]]
    assert value(base.scatter(1, index, 2.0, reduce="add")).tolist() == [[1, 6, 3]]
    assert value(base.scatter(1, index, 2.0, reduce="multiply")).tolist() == [[1, 8, 3]]


def test_errors() -> None:
    with pytest.raises(DTypeError, match="reduce must be"):
        Tensor(X).scatter_reduce(0, Tensor(INDEX), Tensor(SOURCE), "max")
    with pytest.raises(DTypeError, match="src of dtype"):
        Tensor(X).scatter(0, Tensor(INDEX), Tensor(SOURCE).int())
    with pytest.raises(ShapeError, match="smaller than the index"):
        Tensor(X).scatter(0, Tensor(INDEX), Tensor(SOURCE[:1]))
