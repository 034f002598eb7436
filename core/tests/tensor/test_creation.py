"""Storage, constants and foreign memory."""

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, Variable


def test_creation() -> None:
    assert Tensor.zeros(2, 3).tolist() == [[0] * 3] * 2
    assert Tensor.full((2,), 7).dtype is dtypes.int32
    assert Tensor.ones((2, 1), dtype=dtypes.int8).tolist() == [[1], [1]]
    assert Tensor.empty(4, 2).shape == (4, 2)
    assert Tensor.zeros(2).uop.base.op is not Ops.CONST
    assert Tensor.full((2,), 1, buffer=False).uop.device is None
    like = Tensor([1, 2], dtype=dtypes.int16)
    assert like.ones_like().tolist() == [1, 1] and like.zeros_like().dtype is dtypes.int16
    with pytest.raises(ShapeError, match="sizes must be ints"):
        Tensor.zeros(2, -1)
    with pytest.raises(ShapeError, match="expected ints"):
        Tensor.empty(1.5)


def test_foreign_memory() -> None:
    array = np.arange(6, dtype=np.float32)
    view = Tensor.from_blob(array.ctypes.data, (2, 3), dtype=dtypes.float32)
    array[0] = 9
    assert view.tolist() == [[9, 1, 2], [3, 4, 5]]


def test_symbolic_sizes_and_values() -> None:
    n = Variable("n", 1, 4).bind(3)
    assert Tensor.full((n, 2), 7).tolist() == [[7, 7]] * 3
    assert Tensor.full((2,), n).tolist() == [3, 3]
    with pytest.raises(DTypeError, match="has no width"):
        Tensor.empty(2, dtype=dtypes.weakint)
    with pytest.raises(DTypeError, match="expected bool, int or float"):
        Tensor.full((2,), "x")
