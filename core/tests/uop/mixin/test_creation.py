"""Counting, identity, triangles and diagonals against numpy."""

import numpy as np
import pytest
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import UOp

X = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("args", [(10,), (3, 20, 4), (5, 0, -2), (5, 5), (0,), (1,), (-3, 3)])
def test_arange(args: tuple[int, ...]) -> None:
    got = Tensor.arange(*args)
    assert got.dtype is dtypes.int32
    np.testing.assert_array_equal(value(got), np.arange(*args))


def test_arange_of_floats_and_dtypes() -> None:
    np.testing.assert_allclose(value(Tensor.arange(0.5, 3.0, 0.5)), np.arange(0.5, 3.0, 0.5))
    assert Tensor.arange(3, dtype=dtypes.float16).dtype is dtypes.float16
    assert value(Tensor.arange(300, dtype=dtypes.uint8))[299] == 43
    with pytest.raises(ShapeError, match="must not be zero"):
        Tensor.arange(0, 3, 0)
    assert UOp.arange(3).dtype is dtypes.int32


def test_linspace_ends_are_exact() -> None:
    np.testing.assert_allclose(value(Tensor.linspace(0, 1, 7)), np.linspace(0, 1, 7), rtol=1e-6)
    got = value(Tensor.linspace(-0.1, 0.7, 11))
    assert got[0] == np.float32(-0.1) and got[-1] == np.float32(0.7)
    assert value(Tensor.linspace(3, 9, 1)).tolist() == [3]
    with pytest.raises(ShapeError, match="negative"):
        Tensor.linspace(0, 1, -1)


def test_eye_and_triangles() -> None:
    np.testing.assert_array_equal(value(Tensor.eye(3, 4)), np.eye(3, 4))
    assert Tensor.eye(0).shape == (0, 0)
    for offset in (-2, 0, 1, 7):
        np.testing.assert_array_equal(value(Tensor(X).tril(offset)), np.tril(X, offset))
        np.testing.assert_array_equal(value(Tensor(X).triu(offset)), np.triu(X, offset))
    with pytest.raises(ShapeError, match="expected a matrix"):
        Tensor([1]).tril()


@pytest.mark.parametrize("offset", [-4, -3, -1, 0, 2, 5])
def test_diagonal(offset: int) -> None:
    wanted = X.diagonal(offset, 1, 2)
    np.testing.assert_array_equal(value(Tensor(X).diagonal(offset, 1, 2)), wanted)
    np.testing.assert_array_equal(value(Tensor(X).diagonal(offset)), X.diagonal(offset))


def test_diag_one_hot_meshgrid() -> None:
    assert value(Tensor([1, 2]).diag()).tolist() == [[1, 0], [0, 2]]
    assert value(Tensor([2, 0]).one_hot(3)).tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(DTypeError, match="one_hot"):
        Tensor([1.0]).one_hot(2)
    for indexing in ("ij", "xy"):
        got = Tensor([1, 2]).meshgrid(Tensor([3, 4, 5]), indexing=indexing)
        wanted = np.meshgrid([1, 2], [3, 4, 5], indexing=indexing)
        for ours, theirs in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(value(ours), theirs)


def test_const_like() -> None:
    assert value(Tensor(X).const_like(2)).tolist() == np.full_like(X, 2).tolist()
