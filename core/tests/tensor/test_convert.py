"""Values leave as numpy arrays, lists, scalars and memory views."""

import numpy as np
import pytest

from tg_core.dtype import dtypes, to_numpy
from tg_core.tensor import Tensor


@pytest.mark.parametrize("dtype", dtypes.all)
def test_every_dtype(dtype: object) -> None:
    x = Tensor([0, 1, 1], dtype=dtype)
    assert x.tolist() == [0, 1, 1]
    wanted = to_numpy(dtype) or np.dtype(np.float32)
    assert x.numpy().dtype == wanted


def test_views_and_expressions() -> None:
    x = Tensor(np.arange(6).reshape(2, 3)).realize()
    assert x[1].tolist() == [3, 4, 5]
    assert x.flip(1).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert (x + 1).numpy().flags.owndata
    assert x.expand(2, 3).sum().item() == 15
    assert Tensor(2.5).item() == 2.5 and Tensor.full((1, 1), 3).item() == 3
    assert Tensor.zeros(0, 2).tolist() == [] and Tensor.zeros(2, 0).tolist() == [[], []]


def test_result_is_independent() -> None:
    x = Tensor([1, 2]).realize()
    taken = x.numpy()
    x.assign(Tensor([3, 4])).realize()
    assert taken.tolist() == [1, 2]
    assert Tensor([1.0]).is_floating_point() and not Tensor([1]).is_floating_point()
