"""The special cases that the standard lists for elementwise functions.

Source:
    Python array API standard 2024.12, "Special cases" of each function.
"""

from __future__ import annotations

from math import e, inf, nan, pi

import numpy as np
import pytest

import tg_core.array_api as xp

UNARY: dict[str, list[tuple[float, float]]] = {
    "abs": [(nan, nan), (-0.0, 0.0), (-inf, inf), (inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0), (-1.0, pi)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf), (-inf, nan)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0), (1.0, pi / 2)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)],
    "atanh": [
        (nan, nan),
        (-1.5, nan),
        (1.5, nan),
        (-1.0, -inf),
        (1.0, inf),
        (0.0, 0.0),
        (-0.0, -0.0),
    ],
    "ceil": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (-0.5, -0.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (1.0, e)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [
        (nan, nan),
        (-1.5, nan),
        (-1.0, -inf),
        (-0.0, -0.0),
        (0.0, 0.0),
        (inf, inf),
    ],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "negative": [(nan, nan), (inf, -inf), (-inf, inf), (0.0, -0.0), (-0.0, 0.0)],
    "reciprocal": [(nan, nan), (inf, 0.0), (-inf, -0.0), (0.0, inf), (-0.0, -inf)],
    "round": [
        (nan, nan),
        (0.0, 0.0),
        (-0.0, -0.0),
        (inf, inf),
        (-inf, -inf),
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, -0.0),
    ],
    "sign": [(nan, nan), (-3.0, -1.0), (3.0, 1.0), (inf, 1.0), (-inf, -1.0)],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "square": [(nan, nan), (inf, inf), (-inf, inf), (-0.0, 0.0)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (-0.5, -0.0)],
}

BINARY: dict[str, list[tuple[float, float, float]]] = {
    "add": [
        (nan, 1.0, nan),
        (inf, -inf, nan),
        (-inf, inf, nan),
        (inf, inf, inf),
        (-inf, 1.0, -inf),
        (1.0, inf, inf),
        (-0.0, -0.0, -0.0),
        (-0.0, 0.0, 0.0),
        (0.0, -0.0, 0.0),
        (1.0, -1.0, 0.0),
    ],
    "atan2": [
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (1.0, 0.0, pi / 2),
        (1.0, -0.0, pi / 2),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, -0.0, pi),
        (0.0, -1.0, pi),
        (-0.0, 1.0, -0.0),
        (-0.0, 0.0, -0.0),
        (-0.0, -0.0, -pi),
        (-0.0, -1.0, -pi),
        (-1.0, 0.0, -pi / 2),
        (-1.0, -0.0, -pi / 2),
        (1.0, inf, 0.0),
        (1.0, -inf, pi),
        (-1.0, inf, -0.0),
        (-1.0, -inf, -pi),
        (inf, 1.0, pi / 2),
        (-inf, 1.0, -pi / 2),
        (inf, inf, pi / 4),
        (inf, -inf, 3 * pi / 4),
        (-inf, inf, -pi / 4),
        (-inf, -inf, -3 * pi / 4),
    ],
    "copysign": [
        (3.0, -1.0, -3.0),
        (-3.0, 1.0, 3.0),
        (3.0, -0.0, -3.0),
        (0.0, -1.0, -0.0),
        (inf, -0.0, -inf),
        (nan, -1.0, nan),
    ],
    "divide": [
        (nan, 1.0, nan),
        (inf, inf, nan),
        (inf, -inf, nan),
        (0.0, 0.0, nan),
        (0.0, -0.0, nan),
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, -0.0),
        (1.0, 0.0, inf),
        (1.0, -0.0, -inf),
        (-1.0, 0.0, -inf),
        (inf, 2.0, inf),
        (inf, -2.0, -inf),
        (2.0, inf, 0.0),
        (2.0, -inf, -0.0),
        (-2.0, inf, -0.0),
    ],
    "floor_divide": [
        (nan, 1.0, nan),
        (inf, inf, nan),
        (0.0, 0.0, nan),
        (0.0, 2.0, 0.0),
        (-0.0, 2.0, -0.0),
        (2.0, 0.0, inf),
        (2.0, -0.0, -inf),
        (-2.0, 0.0, -inf),
        (2.0, inf, 0.0),
        (2.0, -inf, -1.0),
        (-2.0, inf, -1.0),
        (-2.0, -inf, 0.0),
        (5.0, -2.0, -3.0),
    ],
    "hypot": [
        (inf, nan, inf),
        (nan, -inf, inf),
        (-inf, 1.0, inf),
        (nan, 1.0, nan),
        (0.0, -0.0, 0.0),
        (3.0, 4.0, 5.0),
        (-3.0, 0.0, 3.0),
    ],
    "logaddexp": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (1.0, inf, inf)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan), (inf, 1.0, inf), (-inf, 1.0, 1.0)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan), (-inf, 1.0, -inf), (inf, 1.0, 1.0)],
    "multiply": [
        (nan, 1.0, nan),
        (inf, 0.0, nan),
        (-0.0, -inf, nan),
        (inf, -inf, -inf),
        (-inf, -inf, inf),
        (inf, -2.0, -inf),
        (-0.0, 2.0, -0.0),
        (-0.0, -2.0, 0.0),
    ],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "pow": [
        (2.0, 0.0, 1.0),
        (nan, 0.0, 1.0),
        (nan, -0.0, 1.0),
        (1.0, nan, 1.0),
        (nan, 1.0, nan),
        (2.0, nan, nan),
        (2.0, inf, inf),
        (-2.0, inf, inf),
        (0.5, inf, 0.0),
        (-0.5, inf, 0.0),
        (2.0, -inf, 0.0),
        (0.5, -inf, inf),
        (1.0, inf, 1.0),
        (-1.0, inf, 1.0),
        (-1.0, -inf, 1.0),
        (inf, 2.0, inf),
        (inf, -2.0, 0.0),
        (-inf, 3.0, -inf),
        (-inf, 2.0, inf),
        (-inf, 2.5, inf),
        (-inf, -3.0, -0.0),
        (-inf, -2.0, 0.0),
        (0.0, 2.0, 0.0),
        (0.0, -2.0, inf),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-0.0, -3.0, -inf),
        (-0.0, -2.0, inf),
        (-2.0, 0.5, nan),
        (-2.0, 3.0, -8.0),
    ],
    "remainder": [
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (inf, 2.0, nan),
        (2.0, 0.0, nan),
        (2.0, -0.0, nan),
        (0.0, 2.0, 0.0),
        (-0.0, 2.0, 0.0),
        (0.0, -2.0, -0.0),
        (-0.0, -2.0, -0.0),
        (2.0, inf, 2.0),
        (2.0, -inf, -inf),
        (-2.0, inf, inf),
        (-2.0, -inf, -2.0),
        (4.0, 2.0, 0.0),
        (4.0, -2.0, -0.0),
        (-4.0, 2.0, 0.0),
        (5.0, -3.0, -1.0),
    ],
    "subtract": [(nan, 1.0, nan), (inf, inf, nan), (inf, -inf, inf), (0.0, 0.0, 0.0)],
}

TRUTHS: dict[str, list[tuple[tuple[float, ...], bool]]] = {
    "equal": [((nan, nan), False), ((0.0, -0.0), True), ((inf, inf), True), ((inf, -inf), False)],
    "not_equal": [((nan, nan), True), ((0.0, -0.0), False), ((inf, inf), False)],
    "greater": [((nan, 1.0), False), ((0.0, -0.0), False), ((inf, 1.0), True)],
    "greater_equal": [((nan, nan), False), ((-0.0, 0.0), True), ((inf, inf), True)],
    "less": [((1.0, nan), False), ((-0.0, 0.0), False), ((-inf, 1.0), True)],
    "less_equal": [((nan, nan), False), ((0.0, -0.0), True), ((-inf, -inf), True)],
    "isfinite": [((nan,), False), ((inf,), False), ((-inf,), False), ((-0.0,), True)],
    "isinf": [((nan,), False), ((inf,), True), ((-inf,), True), ((1.0,), False)],
    "isnan": [((nan,), True), ((inf,), False), ((0.0,), False)],
    "signbit": [
        ((0.0,), False),
        ((-0.0,), True),
        ((inf,), False),
        ((-inf,), True),
        ((-2.0,), True),
        ((nan,), False),
        ((-nan,), True),
    ],
}


def compare(found: np.ndarray, expected: np.ndarray, text: str) -> None:
    """Values to four units in the last place, NaN and the signs of zeros exactly."""
    unit = 4 * np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=unit, atol=0, err_msg=text)
    zeros = expected == 0
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros])), text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str) -> None:
    given, expected = (np.array(column, dtype=dtype) for column in zip(*UNARY[name], strict=True))
    compare(getattr(xp, name)(xp.asarray(given)).numpy(), expected, f"{name}({given})")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str) -> None:
    columns = [np.array(column, dtype=dtype) for column in zip(*BINARY[name], strict=True)]
    first, second, expected = columns
    found = getattr(xp, name)(xp.asarray(first), xp.asarray(second)).numpy()
    compare(found, expected, f"{name}({first}, {second})")


@pytest.mark.parametrize("name", TRUTHS)
def test_truths(name: str) -> None:
    arguments = zip(*[args for args, _ in TRUTHS[name]], strict=True)
    given = [xp.asarray(np.array(column)) for column in arguments]
    found = getattr(xp, name)(*given)
    assert found.dtype == xp.bool
    assert found.tolist() == [expected for _, expected in TRUTHS[name]], name


def test_nextafter_steps_through_zero_and_binades() -> None:
    values = np.array([0.0, 0.0, 1.0, 1.0, -1.0, 1e-45, -2.0, 3e38, inf], dtype="float32")
    toward = np.array([1.0, -1.0, 2.0, 0.0, 0.0, -1.0, -3.0, inf, 0.0], dtype="float32")
    found = xp.nextafter(xp.asarray(values), xp.asarray(toward)).numpy()
    np.testing.assert_array_equal(found, np.nextafter(values, toward))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.nextafter(values, toward)))


def test_hypot_neither_overflows_nor_vanishes() -> None:
    found = xp.hypot(xp.asarray([3e38, 3e-30]), xp.asarray([4e37, 4e-30])).numpy()
    np.testing.assert_allclose(found, np.hypot([3e38, 3e-30], [4e37, 4e-30]), rtol=1e-6)


def test_shifts_by_the_width_and_more() -> None:
    x, places = xp.asarray(np.array([-8, 5], dtype="int8")), xp.asarray(np.array([9, 8], "int8"))
    assert xp.bitwise_left_shift(x, places).tolist() == [0, 0]
    assert xp.bitwise_right_shift(x, places).tolist() == [-1, 0]


def test_clip_with_limits_beyond_the_dtype() -> None:
    x = xp.asarray(np.array([-100, 3, 100], dtype="int8"))
    assert xp.clip(x, -1000, 1000).tolist() == [-100, 3, 100]
    assert xp.clip(x, max=xp.asarray(np.array(5, dtype="int64"))).tolist() == [-100, 3, 5]
    limits = xp.asarray([nan, 0.0, 0.0])
    found = xp.clip(xp.asarray([1.0, nan, -1.0]), limits)
    np.testing.assert_array_equal(found.numpy(), [nan, nan, 0.0])
