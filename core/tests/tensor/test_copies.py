"""Copies that only a write reads are not made."""

from __future__ import annotations

import numpy as np
from trap_utils import buf

from tg_core import Device, Tensor
from tg_core.device import GlobalCounters, buffer_of
from tg_core.tensor.storage import linear_with_vars
from tg_core.uop.ops import Ops


def kinds(*tensors: Tensor) -> list[Ops]:
    return [call.src[0].op for call in linear_with_vars(tensors)[0].src]


def test_data_goes_straight_to_where_it_is_assigned() -> None:
    x = Tensor([1, 2, 3], device="PYTHON").to(Device.DEFAULT)
    target = Tensor.empty(3, dtype=x.dtype).assign(x)
    assert kinds(target) == [Ops.COPY, Ops.SINK], "x is alive and keeps its copy"
    del x
    assert kinds(target) == [Ops.COPY]
    used = GlobalCounters.mem_used
    assert target.tolist() == [1, 2, 3]
    assert GlobalCounters.mem_used - used <= 3 * 4 + 3 * 4


def test_in_another_shape() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device="PYTHON").to(Device.DEFAULT)
    target = buf([0.0] * 4).assign(x.reshape(4))
    del x
    assert kinds(target) == [Ops.COPY]
    assert target.tolist() == [1, 2, 3, 4]


def test_not_through_a_strided_target() -> None:
    x = Tensor([1.0, 2.0], device="PYTHON").to(Device.DEFAULT)
    target = buf([0.0] * 4)
    target[::2] = x
    del x
    assert kinds(target) == [Ops.COPY, Ops.SINK]
    assert target.tolist() == [1, 0, 2, 0]


def test_a_clone_that_is_computed() -> None:
    x = buf([1.0, 2.0, 3.0])
    copy = x.flip(0).clone()
    x.assign(copy)
    kept = kinds(x)
    del copy
    assert len(kinds(x)) <= len(kept)
    assert x.tolist() == [3, 2, 1]


def test_a_copy_with_another_reader_is_made() -> None:
    x = Tensor([1, 2, 3], device="PYTHON").to(Device.DEFAULT)
    later = x + 1
    target = Tensor.empty(3, dtype=x.dtype).assign(x)
    del x
    target.realize()
    target.assign(Tensor.zeros(3, dtype=target.dtype)).realize()
    assert later.tolist() == [2, 3, 4]
    assert target.tolist() == [0, 0, 0]


def test_a_copy_that_was_asked_for_is_made() -> None:
    x = Tensor([1, 2, 3], device="PYTHON").to(Device.DEFAULT)
    target = Tensor.empty(3, dtype=x.dtype).assign(x)
    target.realize(x)
    held = buffer_of(x.uop.base)
    assert held is not None
    assert held.is_allocated()
    assert held is not buffer_of(target.uop.base)
    np.testing.assert_array_equal(x.numpy(), target.numpy())
