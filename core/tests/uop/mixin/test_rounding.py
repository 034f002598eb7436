"""Rounding, signs and predicates."""

import math

import numpy as np
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.tensor import Tensor


def test_isclose_and_predicates() -> None:
    left = Tensor([1.0, math.inf, math.nan, -math.inf])
    right = Tensor([1.0 + 1e-7, math.inf, math.nan, math.inf])
    assert value(left.isclose(right)).tolist() == [True, True, False, False]
    assert value(left.isclose(right, equal_nan=True)).tolist() == [True, True, True, False]
    assert value(left.isinf(detect_negative=False)).tolist() == [False, True, False, False]
    assert value(left.isfinite()).tolist() == [True, False, False, False]


def test_rounding_of_halves_and_large_values() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 8388609.0, -0.0], np.float32)
    for name in ("round", "floor", "ceil", "trunc"):
        np.testing.assert_array_equal(value(getattr(Tensor(x), name)()), getattr(np, name)(x))


def test_integers_pass_through() -> None:
    x = Tensor([-3, 0, 4])
    assert x.floor() is x and x.round() is x
    assert value(x.sign()).tolist() == [-1, 0, 1] and value(x.abs()).tolist() == [3, 0, 4]
    assert value(Tensor([7, -7]).fmod(3)).tolist() == [1, -1]
    assert value(Tensor([1.0]).lerp(Tensor([3.0]), 0.25)).tolist() == [1.5]
    assert abs(Tensor([-1.5])).dtype is dtypes.float32


def test_remainders_of_floats_in_kernels() -> None:
    a = Tensor([5.5, -5.5, 1.0, -1.0, -0.25, math.inf, math.nan])
    b = Tensor([2.0, 2.0, math.inf, math.inf, -0.5, 1.0, 1.0])
    truncated, floored = a.fmod(b).numpy(), (a % b).numpy()
    np.testing.assert_array_equal(truncated[:5], [1.5, -1.5, 1.0, -1.0, -0.25])
    np.testing.assert_array_equal(floored[:5], [1.5, 0.5, 1.0, math.inf, -0.25])
    assert np.isnan(truncated[5:]).all() and np.isnan(floored[5:]).all()
    assert a[:2].fmod(2).tolist() == [1.5, -1.5]


def test_floor_division_of_floats_by_one_rounds() -> None:
    assert (Tensor([0.125, 2.5, -1.5]) // 1).tolist() == [0.0, 2.0, -2.0]
    assert Tensor([2.5, -1.5]).div(1, rounding_mode="trunc").tolist() == [2.0, -1.0]


def test_copysign_promotes() -> None:
    half, brain = Tensor([1.5], dtype=dtypes.float16), Tensor([-2.0], dtype=dtypes.bfloat16)
    assert half.copysign(brain).dtype is dtypes.float32
    assert half.copysign(brain).tolist() == [-1.5] and half.copysign(-1).dtype is dtypes.float16
    assert Tensor([2]).copysign(Tensor([-1])).tolist() == [-2.0]
