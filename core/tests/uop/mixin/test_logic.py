"""Comparisons with NaN, bit operations, shifts and selection."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.tensor import Tensor


@pytest.mark.parametrize("op", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_comparisons_with_nan(op: str) -> None:
    a = np.array([1.0, 2.0, np.nan, np.inf, -0.0, np.nan], np.float32)
    b = np.array([1.0, 1.0, 1.0, np.inf, 0.0, np.nan], np.float32)
    got = value(getattr(Tensor(a), op)(Tensor(b)))
    assert got.dtype == np.bool_
    assert got.tolist() == getattr(a, op)(b).tolist()
    assert value(getattr(Tensor(a), op)(1.0)).tolist() == getattr(a, op)(np.float32(1)).tolist()


def test_bit_operations() -> None:
    a, b = np.array([0b1100, -5, 7], np.int16), np.array([0b1010, 3, -1], np.int16)
    left, right = Tensor(a), Tensor(b)
    assert value(left & right).tolist() == (a & b).tolist()
    assert value(left | right).tolist() == (a | b).tolist()
    assert value(left ^ 6).tolist() == (a ^ 6).tolist()
    assert value(~left).tolist() == (~a).tolist()
    assert value(~Tensor([True, False])).tolist() == [False, True]
    with pytest.raises(DTypeError, match="found float32"):
        Tensor([1.0]) & Tensor([1.0])


def test_shifts_take_the_dtype_of_the_value() -> None:
    shifted = Tensor([1, 3], dtype=dtypes.uint8).lshift(Tensor([2, 1]))
    assert shifted.dtype is dtypes.uint8
    assert value(shifted).tolist() == [4, 6]
    assert value(Tensor([-8, 8]) >> 1).tolist() == [-4, 4]
    assert value(1 << Tensor([0, 4])).tolist() == [1, 16]
    with pytest.raises(DTypeError, match="integer operands"):
        Tensor([1.0]) << 1


def test_where_promotes_its_values() -> None:
    condition = Tensor([True, False])
    assert condition.where(1, 0).dtype is dtypes.int32
    assert condition.where(1.5, 0).dtype is dtypes.float32
    assert condition.where(Tensor([1, 2], dtype=dtypes.float16), 0.5).dtype is dtypes.float16
    assert value(condition.where(Tensor([[1], [2]]), 9)).tolist() == [[1, 9], [2, 9]]
    with pytest.raises(DTypeError, match="must be bool"):
        Tensor([1, 0]).where(1, 0)


def test_clamp_keeps_nan() -> None:
    x = Tensor([-3.0, 0.5, np.nan, 9.0])
    np.testing.assert_array_equal(value(x.clamp(-1, 2)), [-1, 0.5, np.nan, 2])
    np.testing.assert_array_equal(value(x.clip(max_=0.0)), [-3, 0, np.nan, 0])
    with pytest.raises(DTypeError, match="at least one"):
        x.clamp()


def test_masked_fill() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert value(x.masked_fill(Tensor([True, False]), 0)).tolist() == [[0, 2], [0, 4]]


def test_gradient_of_where() -> None:
    draw = np.random.default_rng(0).uniform
    check_gradient(lambda a, b: (a > 0).where(a * 2, b), draw(-1, 1, (3, 2)), draw(-1, 1, (3, 2)))


def test_ints_beyond_the_dtype_compare_as_numbers() -> None:
    x = Tensor([-128, 0, 127], dtype=dtypes.int8)
    assert value(x < 300).all() and not value(x > 300).any() and value(x <= 300).all()
    assert value(x > -300).all() and not value(x < -300).any() and value(x >= -300).all()
    assert not value(x == 300).any() and value(x != -300).all()
    assert value(300 > x).all() and not value(300 < x).any()
    small = Tensor([0, 255], dtype=dtypes.uint8)
    assert value(small > -1).all() and value(small < 256).all()
    assert value(x.clamp(-300, 300)).tolist() == [-128, 0, 127]
    assert value(x.maximum(-300)).tolist() == [-128, 0, 127]
    assert (x < 300).shape == (3,) and (x < 300).dtype is dtypes.bool
