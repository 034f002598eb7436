"""Tensors that compute the same are values of their own; views of one share it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

from tg_core import Tensor, TinyJit

START = [1.0, 2.0, 3.0, 4.0]
Write = Callable[[Tensor], object]


def write_item(x: Tensor) -> None:
    x[0] = 9.0


def write_slice(x: Tensor) -> None:
    x[:1].assign(Tensor([9.0]))


def write_reshaped(x: Tensor) -> None:
    x.reshape(2, 2)[0, :1].assign(Tensor([9.0]))


def write_flipped(x: Tensor) -> None:
    x.flip(0)[3:].assign(Tensor([9.0]))


def write_detached(x: Tensor) -> None:
    x.detach()[:1].assign(Tensor([9.0]))


def write_all(x: Tensor) -> None:
    x.assign(Tensor([9.0, 3.0, 4.0, 5.0]))


WRITES = [write_item, write_slice, write_reshaped, write_flipped, write_detached, write_all]
WRITTEN, KEPT = [9.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0]


def twins() -> tuple[Tensor, Tensor]:
    x = Tensor(START).realize()
    return x + 1, x + 1


@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_one_leaves_the_other_alone(write: Write) -> None:
    a, b = twins()
    write(a)
    assert b.tolist() == KEPT
    assert a.tolist() == WRITTEN


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("both", [False, True])
def test_the_same_once_values_are_stored(write: Write, both: bool) -> None:
    a, b = twins()
    a.realize(*([b] if both else []))
    write(a)
    assert a.tolist() == WRITTEN
    assert b.tolist() == KEPT
    write(b)
    assert b.tolist() == WRITTEN


def test_each_of_many_has_storage_of_its_own() -> None:
    x = Tensor(START).realize()
    same = [x * 2 for _ in range(4)]
    same[0].realize(*same[1:])
    for i, one in enumerate(same):
        one[i] = -1.0
    want = np.tile(np.array(START, np.float32) * 2, (4, 1))
    np.fill_diagonal(want, -1.0)
    np.testing.assert_array_equal(np.stack([one.numpy() for one in same]), want)


def test_views_follow_their_own_tensor() -> None:
    a, b = twins()
    of_a, of_b = a[1:], b[1:]
    deep_a, deep_b = of_a.reshape(3, 1).permute(1, 0), of_b.reshape(3, 1).permute(1, 0)
    a.realize()
    a[1] = 7.0
    assert of_a.tolist() == [7.0, 4.0, 5.0]
    assert deep_a.tolist() == [[7.0, 4.0, 5.0]]
    assert of_b.tolist() == [3.0, 4.0, 5.0]
    assert deep_b.tolist() == [[3.0, 4.0, 5.0]]
    b[3] = 8.0
    assert deep_a.tolist() == [[7.0, 4.0, 5.0]]
    assert a.tolist() == [2.0, 7.0, 4.0, 5.0]
    assert b.tolist() == [2.0, 3.0, 4.0, 8.0]


def test_a_view_of_a_lazy_value_is_written_for_its_family_only() -> None:
    a, b = twins()
    of_a, of_b = a[1:], b[1:]
    of_a.assign(Tensor([7.0, 7.0, 7.0]))
    assert (a.tolist(), b.tolist()) == ([2.0, 7.0, 7.0, 7.0], KEPT)
    assert (of_a.tolist(), of_b.tolist()) == ([7.0, 7.0, 7.0], [3.0, 4.0, 5.0])


def test_readers_built_before_keep_the_value_of_theirs() -> None:
    a, b = twins()
    doubled_a, doubled_b = a * 2, b * 2
    a.realize(b)
    a[0] = 9.0
    b[1] = 0.0
    a.realize(b)
    assert doubled_a.tolist() == doubled_b.tolist() == [4.0, 6.0, 8.0, 10.0]


def test_a_copy_costs_no_second_computation() -> None:
    from tg_core import GlobalCounters

    x = Tensor(np.arange(64.0, dtype=np.float32).reshape(8, 8)).realize()
    a, b = (x @ x).exp2().log2(), (x @ x).exp2().log2()
    before = GlobalCounters.kernel_count
    a.realize(b)
    assert GlobalCounters.kernel_count - before == 2
    np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_captured_calls_keep_them_apart() -> None:
    x = Tensor(START).realize()

    @TinyJit
    def step(v: Tensor) -> tuple[Tensor, Tensor]:
        a, b = v + 1, v + 1
        a.realize(b)
        a[0] = 9.0
        return a.realize(), b.realize()

    for _ in range(4):
        a, b = step(x)
        assert a.tolist() == WRITTEN
        assert b.tolist() == KEPT


def test_a_shallow_copy_is_of_the_family() -> None:
    a, b = twins()
    same = copy.copy(a)
    a.realize()
    a[0] = 9.0
    assert same.tolist() == WRITTEN
    assert b.tolist() == KEPT
