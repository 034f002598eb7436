"""Windows against numpy."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.errors import ShapeError
from tg_core.tensor import Tensor

X = np.random.default_rng(0).standard_normal((4, 5, 6)).astype(np.float32)


@pytest.mark.parametrize(("size", "step"), [(3, 1), (2, 2), (2, 3), (3, 2), (1, 1), (5, 1)])
def test_unfold(size: int, step: int) -> None:
    wanted = np.lib.stride_tricks.sliding_window_view(X, size, 1)[:, ::step]
    np.testing.assert_array_equal(value(Tensor(X).unfold(1, size, step)), wanted)


@pytest.mark.parametrize("gap", [1, 2, 3])
@pytest.mark.parametrize("step", [1, 2, 5, 9])
def test_windows_with_dilation(step: int, gap: int) -> None:
    x = np.arange(9)
    count = (9 - gap * 2 - 1) // step + 1
    wanted = [[x[c * step + k * gap] for k in range(3)] for c in range(count)]
    assert value(Tensor(x)._windows((3,), (step,), (gap,))).tolist() == wanted


def test_gradient_and_errors() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4))
    check_gradient(lambda a: a.unfold(1, 2, 1) * a.unfold(1, 2, 1), x)
    with pytest.raises(ShapeError, match="unfold"):
        Tensor(X).unfold(1, 6, 1)
    with pytest.raises(ShapeError, match="unfold"):
        Tensor(X).unfold(1, 2, 0)
