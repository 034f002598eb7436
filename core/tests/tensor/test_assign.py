"""Writes through views that reinterpret, and what aliases of the storage see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trap_utils import buf

from tg_core import Tensor
from tg_core.dtype import dtypes
from tg_core.errors import DeviceMismatch, DTypeError, ShapeError


def pair(count: int = 8) -> tuple[Tensor, np.ndarray[Any, Any]]:
    values = np.arange(1, count + 1, dtype=np.float32)
    return buf(values.tolist()), values


def equal(tensor: Tensor, array: np.ndarray[Any, Any]) -> None:
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_same_size() -> None:
    x, a = pair()
    x[1:3].bitcast(dtypes.int32).assign(Tensor([7, 8]))
    a[1:3].view(np.int32)[:] = [7, 8]
    equal(x, a)


def test_same_size_below_and_above_views() -> None:
    x, a = pair()
    x.reshape(2, 4).bitcast(dtypes.int32)[1, 1:3].assign(Tensor([9, 10]))
    a.reshape(2, 4).view(np.int32)[1, 1:3] = [9, 10]
    equal(x, a)


def test_bytes_of_everything() -> None:
    x, a = pair()
    x.bitcast(dtypes.uint8)[4:8].assign(Tensor([1, 2, 3, 4], dtype=dtypes.uint8))
    a.view(np.uint8)[4:8] = [1, 2, 3, 4]
    equal(x, a)


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
def test_bytes_of_a_part(shape: tuple[int, ...]) -> None:
    x, a = pair()
    x[2:4].reshape(shape).bitcast(dtypes.uint8)[..., 2:5].assign(Tensor(7, dtype=dtypes.uint8))
    a[2:4].view(np.uint8)[2:5] = 7
    equal(x, a)


def test_wider_elements() -> None:
    x = buf([1, 2, 3, 4, 5, 6], dtypes.int16)
    a = np.arange(1, 7, dtype=np.int16)
    x[2:6].bitcast(dtypes.int32)[1].assign(Tensor(-2, dtype=dtypes.int32))
    a[2:6].view(np.int32)[1] = -2
    equal(x, a)


def test_wider_elements_that_straddle_are_refused() -> None:
    x = buf([1, 2, 3, 4, 5, 6], dtypes.int16)
    with pytest.raises(ShapeError, match="not one run of storage"):
        x[1:5].bitcast(dtypes.int32).assign(Tensor([1, 2]))
    with pytest.raises(ShapeError, match="not one run of storage"):
        x.reshape(2, 3).permute(1, 0).bitcast(dtypes.uint8).assign(Tensor(0, dtype=dtypes.uint8))
    assert x.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_value_that_reads_the_target_as_another_dtype() -> None:
    x, a = pair(4096)
    x.assign(x.bitcast(dtypes.uint8).flip(0)[:4096].cast(dtypes.float32))
    equal(x, a.view(np.uint8)[::-1][:4096].astype(np.float32))


def test_every_alias_sees_a_write_whatever_is_realized_with_it() -> None:
    w, x = buf(np.ones((2, 3)).tolist()), buf(np.ones((2, 3)).tolist())
    operand = x + 1
    w.assign(w + operand)
    turned, row, later = w.permute(1, 0), w[0], w * 10
    turned.realize(operand)
    assert w.uop.base is turned.uop.base
    for tensor, want in (
        (w, np.full((2, 3), 3.0)),
        (row, np.full(3, 3.0)),
        (later, np.full((2, 3), 30.0)),
    ):
        equal(tensor, want.astype(np.float32))
    w.assign(w * 0).realize()
    equal(turned, np.zeros((3, 2), np.float32))


def test_deferred_calls_write_once() -> None:
    w, x = buf(np.ones((2, 3)).tolist()), buf(np.ones((2, 3)).tolist())
    row, operand = w[0], x + 1
    w.assign(w + operand)
    later = w * 10
    w.callify(operand)
    equal(w, np.full((2, 3), 3, np.float32))
    equal(operand, np.full((2, 3), 2, np.float32))
    equal(row, np.full(3, 3, np.float32))
    equal(later, np.full((2, 3), 30, np.float32))


def test_errors_name_both_sides() -> None:
    x, _ = pair(4)
    with pytest.raises(DTypeError, match="float32 tensor cannot take int32"):
        x.assign(Tensor([1, 2, 3, 4]))
    with pytest.raises(ShapeError, match=r"\(3,\) does not fit target of shape \(4,\)"):
        x.assign(Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(DeviceMismatch, match=r"on CPU.* on CPU:1"):
        x.assign(Tensor([1.0, 2.0, 3.0, 4.0], device="CPU:1"))
    assert x.tolist() == [1, 2, 3, 4]
