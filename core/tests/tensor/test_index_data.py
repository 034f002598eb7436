"""Masks and lists as indices, selections whose size depends on data, checked positions."""

import numpy as np
import pytest

from tg_core.config import Context
from tg_core.errors import IndexingError, ShapeError
from tg_core.function import function
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


def test_positions_out_of_range_read_zero_and_write_nothing() -> None:
    x = Tensor(X)
    assert x[Tensor([0, 5])].tolist() == [X[0].tolist(), [0, 0, 0, 0]]
    x[Tensor([0, 5])] = 7
    assert x.tolist() == [[7] * 4, *X[1:].tolist()]


def test_checked_positions() -> None:
    x = Tensor(X)
    with Context(CHECK_INDEX=1):
        assert x[Tensor([0, -3])].tolist() == X[[0, -3]].tolist()
        late = x[Tensor([0, 5])] + 1
        with pytest.raises(
            IndexingError, match=r"index: .* 5 at position \(1,\) .* axis 0 of size 3"
        ):
            late.realize()
        with pytest.raises(
            IndexingError, match=r"index: .* 4 at position \(\) .* axis 1 of size 4"
        ):
            x[:, Tensor(2) * 2].tolist()
        with pytest.raises(IndexingError, match=r"gather: .* -4 at position \(0, 2\)"):
            x.gather(0, Tensor([[0, 0, -4, 0]])).tolist()
        spread = Tensor.zeros(2, 3).scatter(1, Tensor([[0, 3]]), 1.0)
        with pytest.raises(IndexingError, match=r"scatter: .* 3 at position \(0, 1\) .* axis 1"):
            spread.realize()
        logits = Tensor([[1.0, 2.0], [3.0, 4.0]])
        loss = logits.nll_loss(Tensor([1, -100]), ignore_index=-100)
        assert loss.item() == -2.0


def test_nothing_is_written_when_a_checked_position_fails() -> None:
    x = Tensor([1, 2, 3]).realize()
    other = Tensor([4, 5, 6]).realize()
    with Context(CHECK_INDEX=1):
        other.assign(other + 1)
        x[Tensor([0, 1]) + 2] = 9
        with pytest.raises(IndexingError, match=r"setitem: .* 3 at position \(1,\)"):
            Tensor.realize(other, x)
    assert other.tolist() == [5, 6, 7]


def test_checked_positions_of_positions_and_of_functions() -> None:
    x, steps = Tensor([10, 20, 30]), Tensor([1, 2, 7])
    with Context(CHECK_INDEX=1):
        with pytest.raises(IndexingError, match="value 7 at"):
            x[steps[Tensor([0, 2])]].tolist()
        with pytest.raises(IndexingError, match="value 3 at"):
            x[steps[Tensor([0, 3])]].tolist()
        pick = function(lambda table, at: table[at] * 2, precompile=True)
        assert pick(x, steps[:2]).tolist() == [40, 60]
        with pytest.raises(IndexingError, match=r"value 7 at position \(2,\)"):
            pick(x, steps).tolist()
        table = x.float()
        (slope,) = (table[steps] * 2).sum().gradient(table)
        with pytest.raises(IndexingError, match="value 7"):
            slope.realize()


def test_foreign_lists() -> None:
    with pytest.raises(IndexingError, match="expected ints or bools"):
        Tensor(X)[[0.5, 1.0]]
    with pytest.raises(IndexingError, match="ragged"):
        Tensor(X)[[[0], [1, 2]]]
