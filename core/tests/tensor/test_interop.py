"""Tensors beside numpy arrays, copied and pickled."""

import copy
import pickle

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.tensor import Tensor


def test_numpy_meets_tensors() -> None:
    x = Tensor([1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(x), [1, 2])
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.array(Tensor([[1, 2]])).shape == (1, 2)
    for sum_ in (np.float32(3) + x, x + np.float32(3), np.array([3, 3], np.float32) + x):
        assert isinstance(sum_, Tensor) and sum_.tolist() == [4, 5]
    assert (x * np.array([[2.0], [3.0]], np.float32)).tolist() == [[2, 4], [3, 6]]
    assert (np.array([1.0, 0.0], np.float32) < x).tolist() == [False, True]
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, copy=False)


def test_copies() -> None:
    x = Tensor([1, 2]).realize()
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x[0] = 9
    assert shallow.tolist() == [9, 2] and deep.tolist() == [1, 2]
    assert copy.deepcopy(Tensor(3)).item() == 3


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.bool, dtypes.fp8e4m3])
def test_pickling(dtype: object) -> None:
    x = Tensor([[1, 0], [0, 1]], dtype=dtype).is_param_()
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is dtype and back.is_param and back.tolist() == [[1, 0], [0, 1]]
    empty = pickle.loads(pickle.dumps(Tensor.zeros(0, 3)))
    assert empty.shape == (0, 3)
