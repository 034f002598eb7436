"""Writes that nobody sees are not computed, and those that somebody sees are."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor
from tg_core.uop.ops import Ops

RNG = np.random.default_rng(3)


def kernels(*tensors: Tensor) -> int:
    return len(tensors[0].schedule_linear(*tensors[1:]).src)


def fresh() -> tuple[Tensor, np.ndarray]:
    array = RNG.normal(size=(4, 5)).astype(np.float32)
    return Tensor(array).realize(), array


def test_random_values_that_are_overwritten_are_not_drawn() -> None:
    value, array = fresh()
    drawn = Tensor.rand(4, 5)
    drawn.assign(value)
    linear = drawn.schedule_linear()
    assert len(linear.src) == 1
    assert not [n for n in linear.src[0].src[0].toposort() if n.op is Ops.REDUCE]
    np.testing.assert_array_equal(drawn.numpy(), array)


def test_a_chain_of_unread_writes_leaves_the_last() -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value)
    target.assign(target + 1)
    target[1:].assign(3)
    target.assign(value * 2)
    assert kernels(target) == 1
    np.testing.assert_array_equal(target.numpy(), array * 2)


def test_a_reader_of_a_state_keeps_its_write() -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value)
    seen = target + 1
    target.assign(value * 2)
    target.realize()
    np.testing.assert_array_equal(seen.numpy(), array + 1)
    np.testing.assert_array_equal(target.numpy(), array * 2)


def test_a_write_that_reads_what_it_overwrites_keeps_it() -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value)
    target.assign(target * 2 + value)
    np.testing.assert_array_equal(target.numpy(), array * 2 + array)


@pytest.mark.parametrize("shape", [(4, 5), (20,)])
def test_a_state_written_into_itself_keeps_its_write(shape: tuple[int, ...]) -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value)
    target.reshape(shape).assign(target.reshape(shape))
    np.testing.assert_array_equal(target.numpy(), array)
    target.assign(value + 1)
    target[1:3].assign(target[1:3])
    np.testing.assert_array_equal(target.numpy(), array + 1)


@pytest.mark.parametrize("is_held", [True, False])
def test_what_only_an_overwritten_write_reads_stays_right(is_held: bool) -> None:
    value, array = fresh()
    other = Tensor(array).contiguous()
    reader = other + 1
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(other)
    target.assign(value * 2)
    if not is_held:
        del other
    np.testing.assert_array_equal(target.numpy(), array * 2)
    np.testing.assert_array_equal(reader.numpy(), array + 1)


def test_a_view_that_only_an_overwritten_write_reads_stays_right() -> None:
    one, two = Tensor(np.ones((4, 4), np.float32)), Tensor(np.full((4, 4), 2, np.float32))
    one[1:3].assign(two[1:3] + 1)
    one.assign(two * 5)
    np.testing.assert_array_equal(one.numpy(), np.full((4, 4), 10))
    np.testing.assert_array_equal(two.numpy(), np.full((4, 4), 2))


def test_dropping_around_a_state_that_is_read_leaves_one_chain_of_writes() -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    seen = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value * 3)
    target.assign(value * 2)
    seen.assign(target)
    target.assign(value + 1)
    target.assign(Tensor.full((4, 5), 2.0))
    Tensor.realize(seen, target)
    np.testing.assert_array_equal(seen.numpy(), array * 2)
    np.testing.assert_array_equal(target.numpy(), np.full((4, 5), 2))


@pytest.mark.parametrize("part", [slice(1, None), slice(None, None, 2), slice(0, 3)])
def test_a_partial_write_keeps_the_rest(part: slice) -> None:
    value, array = fresh()
    target = Tensor.zeros(4, 5).contiguous().realize()
    target.assign(value)
    target[part].assign(0)
    expected = array.copy()
    expected[part] = 0
    np.testing.assert_array_equal(target.numpy(), expected)


def test_a_permuted_write_keeps_what_it_reads_through_the_permutation() -> None:
    array = RNG.normal(size=(4, 4)).astype(np.float32)
    target = Tensor.zeros(4, 4).contiguous().realize()
    target.assign(Tensor(array))
    target.assign(target.T + 0)
    np.testing.assert_array_equal(target.numpy(), array.T)


def test_long_chains_cost_one_kernel_and_no_recursion() -> None:
    target = Tensor.zeros(8).contiguous().realize()
    for step in range(2000):
        target.assign(Tensor.full((8,), float(step)))
    assert kernels(target) <= 2
    assert target.tolist() == [1999.0] * 8
