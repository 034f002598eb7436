"""Masks and lists as indices, selections whose size depends on data, checked positions."""

import numpy as np
import pytest

from tg_core.config import Context
from tg_core.errors import IndexingError, ShapeError
from tg_core.tensor import Tensor

X = np.arange(12).reshape(3, 4)


def test_masks_read() -> None:
    x = Tensor(X)
    np.testing.assert_array_equal(x[Tensor(X % 3 == 0)].numpy(), X[X % 3 == 0])
    rows = np.array([True, False, True])
    np.testing.assert_array_equal(x[Tensor(rows)].numpy(), X[rows])
    np.testing.assert_array_equal(x[rows.tolist(), 1].numpy(), X[rows, 1])
    np.testing.assert_array_equal(x[:, [True, False, False, True]].numpy(), X[:, [0, 3]])
    assert x[Tensor(X > 99)].shape == (0,)
    assert x[[]].shape == (0, 4)


def test_masked_select_and_nonzero() -> None:
    x = Tensor([1, 2, 3, 4, 5])
    mask = Tensor([False, True, True, False, True])
    assert x.masked_select(mask).tolist() == [2, 3, 5]
    assert x.masked_select(mask, size=4, fill_value=-1).tolist() == [2, 3, 5, -1]
    assert x.masked_select(mask, size=2).tolist() == [2, 3]
    grid = np.array([[0, 7], [8, 0]])
    assert Tensor(grid).nonzero().tolist() == np.argwhere(grid).tolist()
    assert Tensor(grid).nonzero(size=3, fill_value=9).tolist() == [[0, 1], [1, 0], [9, 9]]
    with pytest.raises(ShapeError, match="nonzero"):
        Tensor(1).nonzero()


def test_checked_positions() -> None:
    x = Tensor(X)
    assert x[Tensor([0, 5])].tolist() == [X[0].tolist(), [0, 0, 0, 0]]
    with Context(CHECK_INDEX=1):
        assert x[Tensor([0, -3])].tolist() == X[[0, -3]].tolist()
        with pytest.raises(IndexingError, match=r"value 5 at position \(1,\) .* size 3"):
            x[Tensor([0, 5])]
        with pytest.raises(IndexingError, match="value -4"):
            x.gather(0, Tensor([[0, 0, -4, 0]]))
        logits = Tensor([[1.0, 2.0], [3.0, 4.0]])
        loss = logits.nll_loss(Tensor([1, -100]), ignore_index=-100)
        assert loss.item() == -2.0


def test_foreign_lists() -> None:
    with pytest.raises(IndexingError, match="expected ints or bools"):
        Tensor(X)[[0.5, 1.0]]
    with pytest.raises(IndexingError, match="ragged"):
        Tensor(X)[[[0], [1, 2]]]
