"""Signs of zeros, quadrants and slopes at zero; `test_math` has the values."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.tensor import Tensor

ODD = ["sin", "tan", "atan", "asin", "sinh", "tanh", "asinh", "atanh", "erf", "expm1", "log1p"]


@pytest.mark.parametrize("name", [*ODD, "abs", "copysign"])
def test_sign_of_zero(name: str) -> None:
    function = getattr(Tensor([-0.0, 0.0]), name)
    got = value(function(-1.0) if name == "copysign" else function())
    wanted = {"abs": [False, False], "copysign": [True, True]}.get(name, [True, False])
    assert np.signbit(got).tolist() == wanted


def test_atan2_quadrants_and_zeros() -> None:
    y = np.array([0.0, -0.0, 0.0, -0.0, 1, -1, 1, -1, 3, np.inf, np.inf, -2], np.float32)
    x = np.array([1.0, 1.0, -1.0, -1.0, 0, 0, -1, -1, 4, np.inf, -np.inf, np.inf], np.float32)
    got = value(Tensor(y).atan2(Tensor(x)))
    np.testing.assert_allclose(got, np.arctan2(y, x), rtol=1e-6)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.arctan2(y, x)))


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "tan", "tanh", "erf", "sinh"])
def test_gradient_around_zero(name: str) -> None:
    check_gradient(lambda x: getattr(x, name)(), np.array([-0.7, -0.1, 0.0, 0.3, 0.8]))
