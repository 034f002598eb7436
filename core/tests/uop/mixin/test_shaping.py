"""Joining, splitting, repeating, padding and windows against numpy."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)


def test_cat_and_stack() -> None:
    x = Tensor(X)
    np.testing.assert_array_equal(value(x.cat(x, x, dim=1)), np.concatenate([X, X, X], 1))
    np.testing.assert_array_equal(value(x.stack(x, dim=2)), np.stack([X, X], 2))
    np.testing.assert_array_equal(value(x.stack(x, dim=-1)), np.stack([X, X], -1))
    assert value(Tensor([True]).cat(Tensor([False]))).tolist() == [True, False]
    assert Tensor([1]).cat(Tensor([1.0])).dtype is dtypes.float32
    empty = Tensor.zeros(2, 0)
    assert value(empty.cat(Tensor.ones(2, 1), dim=1)).tolist() == [[1], [1]]
    with pytest.raises(ShapeError, match="differ beside axis 0"):
        x.cat(Tensor(X[:, :2]))
    with pytest.raises(ShapeError, match="stack"):
        x.stack(Tensor(X[:2]))


def test_split_and_chunk() -> None:
    x = Tensor(X)
    for got, wanted in zip(x.split(2, 1), np.split(X, [2, 4], 1), strict=True):
        np.testing.assert_array_equal(value(got), wanted)
    assert [part.shape[0] for part in x.split([1, 3])] == [1, 3]
    assert [part.shape[1] for part in x.chunk(3, 1)] == [2, 2, 1]
    with pytest.raises(ShapeError, match="do not add up"):
        x.split([1, 1])
    with pytest.raises(ShapeError, match="must be positive"):
        x.chunk(0)


def test_repeating() -> None:
    x = Tensor(X)
    np.testing.assert_array_equal(value(x.repeat(2, 1, 3)), np.tile(X, (2, 1, 3)))
    np.testing.assert_array_equal(value(x.repeat((2, 1, 1, 1))), np.tile(X, (2, 1, 1, 1)))
    np.testing.assert_array_equal(value(x.repeat_interleave(2, 1)), np.repeat(X, 2, 1))
    np.testing.assert_array_equal(value(x.repeat_interleave(3)), np.repeat(X, 3))
    np.testing.assert_array_equal(value(x.roll((1, -2), (0, 2))), np.roll(X, (1, -2), (0, 2)))
    np.testing.assert_array_equal(value(x.roll(7)), np.roll(X, 7))


def test_joining_keeps_the_signs_of_zeros() -> None:
    x = Tensor([-0.0, 1.0, -0.0])
    for joined in (x.cat(x, x), x.stack(x), x.roll(1)):
        found = value(joined)
        np.testing.assert_array_equal(np.signbit(found), found == 0)


def test_gradient() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    check_gradient(lambda a: a.cat(a * 2, dim=1).roll(1, 1), x)
    check_gradient(lambda a: a.pad(((1, 1), (2, 0)), mode="reflect"), x)
    check_gradient(lambda a: a.unfold(1, 2, 1) * a.unfold(1, 2, 1), x)
