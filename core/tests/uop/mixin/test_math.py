"""Elementary functions against numpy in double precision, special values included."""

import math

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.tensor import Tensor

SPECIAL = [math.inf, -math.inf, 0.0, -0.0, math.nan]
POINTS = np.concatenate(
    [
        np.linspace(-20, 20, 401),
        np.linspace(-1, 1, 201),
        10.0 ** np.linspace(-20, 20, 50),
        -(10.0 ** np.linspace(-20, 20, 50)),
        SPECIAL,
    ]
).astype(np.float32)
FUNCTIONS = {
    "exp": (np.exp, 30),
    "log": (np.log, 2),
    "log10": (np.log10, 2),
    "log1p": (np.log1p, 4),
    "expm1": (np.expm1, 30),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "tanh": (np.tanh, 4),
    "sinh": (np.sinh, 30),
    "cosh": (np.cosh, 30),
    "asin": (np.arcsin, 6),
    "acos": (np.arccos, 6),
    "atan": (np.arctan, 6),
    "asinh": (np.arcsinh, 4),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 4),
    "erf": (np.vectorize(math.erf), 4),
    "floor": (np.floor, 0),
    "ceil": (np.ceil, 0),
    "round": (np.round, 0),
    "trunc": (np.trunc, 0),
    "sign": (np.sign, 0),
    "abs": (np.abs, 0),
    "square": (np.square, 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_of_float32(name: str) -> None:
    reference, ulps = FUNCTIONS[name]
    wanted = reference(POINTS.astype(np.float64)).astype(np.float32)
    got = value(getattr(Tensor(POINTS), name)())
    assert got.dtype == np.float32
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted), err_msg=f"{name}: nan")
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted), err_msg=f"{name}: inf")
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(got[finite], wanted[finite], rtol=(ulps + 0.5) * 2**-23, atol=1e-37)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16])
def test_halves_are_rounded_once(dtype: object) -> None:
    points = Tensor(np.linspace(-8, 8, 65).astype(np.float32)).cast(dtype)
    for name in ("exp", "tanh", "sigmoid", "cos"):
        got = value(getattr(points, name)())
        exact = value(getattr(points.float(), name)().cast(dtype))
        np.testing.assert_array_equal(got, exact, err_msg=name)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 0.5, -1, -2.0, 2.5])
def test_constant_powers(exponent: float) -> None:
    base = np.array([0.5, 1.0, 3.0, 7.5], np.float32)
    got = value(Tensor(base) ** exponent)
    np.testing.assert_allclose(got, base.astype(np.float64) ** exponent, rtol=1e-6)
    assert got.dtype == np.float32


def test_integer_powers_are_exact() -> None:
    base, exponent = np.array([2, 3, -3, 0, 7]), np.array([10, 20, 3, 0, 5])
    np.testing.assert_array_equal(value(Tensor(base) ** Tensor(exponent)), base**exponent)
    np.testing.assert_array_equal(value(Tensor(base) ** 3), base**3)
    np.testing.assert_array_equal(value(2 ** Tensor(exponent)), 2**exponent)
    assert (Tensor([2], dtype=dtypes.int8) ** 2).dtype is dtypes.int8
    with pytest.raises(DTypeError, match="negative power"):
        Tensor([2]) ** -1


@pytest.mark.parametrize(
    "name", ["exp", "log2", "sin", "cos", "sqrt", "tanh", "erf", "log1p", "expm1", "asinh", "atan"]
)
def test_gradient(name: str) -> None:
    points = np.random.default_rng(0).uniform(0.2, 1.7, (3, 2))
    check_gradient(lambda x: getattr(x, name)(), points)


def test_gradient_of_two_operands() -> None:
    draw = np.random.default_rng(1).uniform
    check_gradient(lambda x, y: x**y, draw(0.5, 2, 4), draw(-2, 2, 4))
    check_gradient(lambda x, y: x.atan2(y), draw(-2, 2, 6), draw(-2, 2, 6))
    check_gradient(lambda x, y: x % y, draw(1, 2, 4), draw(1, 2, 4))
    check_gradient(lambda x, y: x.logaddexp(y), draw(-2, 2, 4), draw(-2, 2, 4))
