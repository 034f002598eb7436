"""Reading by index against numpy; gather; gradients that add up where positions repeat."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_eval import check_gradient, value

from tg_core.errors import DTypeError, IndexingError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Variable

X = np.arange(120).reshape(4, 5, 6)
BASIC: list[Any] = [
    0,
    -1,
    (0, 1),
    (slice(None), 2),
    (..., 3),
    (slice(1, 3), None, slice(None, None, 2)),
    slice(None, None, -1),
    (slice(None), slice(4, 0, -2)),
    (slice(3, None, -2), slice(None), slice(1, None, 3)),
    slice(2, 2),
    (None, ..., None),
    (np.int64(2), slice(-3, None)),
]
ADVANCED: list[Any] = [
    [0, 3, -1],
    (slice(None), [0, 3, -1]),
    ([0, 3, -1], [0, 1, 2]),
    (slice(None), [0, 3, -1], [0, 1, 2]),
    ([0, 1], slice(None), [2, -3]),
    (slice(None), [[0, 1], [2, 3]]),
    ([0, 3], None, slice(1, 2)),
    np.array([1, 2]),
    (..., [5, 0]),
    (slice(0, 2), [1], slice(None, None, 2)),
]


@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=str)
def test_against_numpy(index: Any) -> None:
    np.testing.assert_array_equal(value(Tensor(X)[index]), X[index])


def test_position_beside_lookups_follows_pytorch() -> None:
    # PyTorch takes the int first, so the looked-up axes stay where they were
    assert Tensor(X)[0, :, [1, 2]].shape == (5, 2)
    np.testing.assert_array_equal(value(Tensor(X)[0, :, [1, 2]]), X[0][:, [1, 2]])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (4, "out of range for axis 0 of size 4"),
        ((0, 0, 0, 0), "4 indices for 3 axes"),
        ((..., ...), "only one ellipsis"),
        (1.5, "is no index"),
        ("a", "is no index"),
        ([0.5], "float"),
        (slice(None, None, 0), "must not be zero"),
        (slice(0.5, None), "axis 0"),
        ([True, False], "mask of shape"),
    ],
    ids=str,
)
def test_errors(index: Any, message: str) -> None:
    with pytest.raises(IndexingError, match=message):
        Tensor(X)[index]


def test_lookups_out_of_range_read_zero() -> None:
    x = Tensor([1, 2, 3])
    assert value(x[Tensor([0, 3, -3, -4])]).tolist() == [1, 0, 1, 0]
    grid = Tensor([[1, 2], [3, 4]])
    assert value(grid[Tensor([0, 1, 2]), Tensor([0, 5, 0])]).tolist() == [1, 0, 0]


def test_symbolic_position_and_slice() -> None:
    at = Variable("i", 0, 3).bind(2)
    np.testing.assert_array_equal(value(Tensor(X)[at]), X[2])
    np.testing.assert_array_equal(value(Tensor(X)[:at]), X[:2])
    with pytest.raises(IndexingError, match="may be out of range"):
        Tensor(X)[Variable("j", 0, 4).bind(1)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_slices(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9))
    bound = st.none() | st.integers(-11, 11)
    step = data.draw(st.integers(-4, 4).filter(bool))
    part = slice(data.draw(bound), data.draw(bound), step)
    x = np.arange(size)
    np.testing.assert_array_equal(value(Tensor(x)[part]), x[part])


def test_gather() -> None:
    rows = np.random.default_rng(0).integers(-4, 4, (3, 2, 6))
    np.testing.assert_array_equal(
        value(Tensor(X).gather(0, Tensor(rows))), np.take_along_axis(X[:, :2], rows, 0)
    )
    columns = np.random.default_rng(1).integers(-5, 5, (4, 7, 6))
    np.testing.assert_array_equal(
        value(Tensor(X).gather(1, Tensor(columns))), np.take_along_axis(X, columns, 1)
    )
    with pytest.raises(DTypeError, match="integer"):
        Tensor(X).gather(0, Tensor([[[1.0]]]))
    with pytest.raises(ShapeError, match="expected as many axes"):
        Tensor(X).gather(0, Tensor([0]))
    with pytest.raises(ShapeError, match="exceeds shape"):
        Tensor(X).gather(0, Tensor(np.zeros((1, 6, 6), np.int64)))


def test_gradient_adds_up() -> None:
    x = np.random.default_rng(0).standard_normal((4, 3))
    check_gradient(lambda a: a[1::2] * 2 + a[::-2], x)
    index = np.array([1, 1, 0, 3])
    check_gradient(lambda a: _lookup(a, index), x)


def _lookup(node: Any, index: np.ndarray) -> Any:
    """Look rows up at fixed positions, on a bare node."""
    rows = [node[int(i)] for i in index]
    return rows[0].stack(*rows[1:])
