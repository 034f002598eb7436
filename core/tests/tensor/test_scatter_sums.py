"""Gradients of large lookups: the values of a loop in numpy, in work that grows with the indices."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import GlobalCounters, Tensor, TinyJit, function
from tg_core.dtype import dtypes

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("device", [None, "PYTHON"])
def test_rows_of_a_table(device: str | None) -> None:
    table = Tensor(drawn(300, 24), device=device).realize()
    index = RNG.integers(-300, 300, 40)
    index[3] = 7000
    weight = drawn(40, 24)
    lookup = table[Tensor(index, device=device)] * Tensor(weight, device=device)
    (grad,) = lookup.sum().gradient(table)
    wanted = np.zeros((300, 24), np.float32)
    for place, row in zip(index, weight):
        if place < 300:
            wanted[place] += row
    # the order of the sum is that of the indices
    np.testing.assert_array_equal(grad.numpy(), wanted)


def test_an_axis_in_the_middle() -> None:
    x, index, weight = Tensor(drawn(3, 50, 4)), RNG.integers(0, 50, (7, 30)), drawn(3, 7, 30, 4)
    (grad,) = (x[:, Tensor(index)] * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros(x.shape, np.float32)
    np.add.at(wanted, (slice(None), index), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather(dim: int) -> None:
    shape = [4, 5, 6]
    shape[dim] = 200
    x, index = Tensor(drawn(*shape)), RNG.integers(0, 200, (4, 5, 6))
    weight = drawn(4, 5, 6)
    (grad,) = (x.gather(dim, Tensor(index)) * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros(x.shape, np.float32)
    places = list(np.indices((4, 5, 6)))
    places[dim] = index
    np.add.at(wanted, tuple(places), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_several_axes_and_several_lookups() -> None:
    x = Tensor(drawn(40, 30))
    rows, columns, weight = RNG.integers(0, 40, 99), RNG.integers(0, 30, 99), drawn(99)
    again = RNG.integers(0, 40, 99)
    picked = x[Tensor(rows), Tensor(columns)] - x[Tensor(again), Tensor(columns)]
    (grad,) = (picked * Tensor(weight)).sum().gradient(x)
    wanted = np.zeros((40, 30), np.float32)
    np.add.at(wanted, (rows, columns), weight)
    np.subtract.at(wanted, (again, columns), weight)
    np.testing.assert_allclose(grad.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_halves_add_up_in_float32() -> None:
    table = Tensor(np.zeros((20, 2), np.float16))
    index = np.zeros(4000, np.int64)
    (grad,) = table[Tensor(index)].sum().gradient(table)
    assert grad.dtype is dtypes.float16
    assert grad[0].tolist() == [4000, 4000]


def test_second_derivative() -> None:
    table, index = Tensor(drawn(100, 8)), RNG.integers(0, 100, 150)
    picked = table[Tensor(index)]
    (first,) = (picked * picked * picked).sum().gradient(table)
    weight = drawn(100, 8)
    (second,) = (first * Tensor(weight)).sum().gradient(table)
    counts = np.bincount(index, minlength=100)[:, None]
    np.testing.assert_allclose(second.numpy(), 6 * counts * table.numpy() * weight, rtol=1e-4)


def test_work_grows_with_the_indices() -> None:
    def flops(rows: int) -> int:
        table, index = (
            Tensor(drawn(rows, 16)).realize(),
            Tensor(RNG.integers(0, rows, 64)).realize(),
        )
        (grad,) = table[index].sum().gradient(table)
        GlobalCounters.reset()
        grad.realize()
        return GlobalCounters.flops

    assert flops(8000) < 2 * flops(1000)


def test_in_functions_and_replays() -> None:
    values, weight = drawn(200, 16), drawn(64, 16)
    table = Tensor(values).realize()

    def step(index: Tensor, weight: Tensor) -> Tensor:
        (grad,) = (table[index] * weight).sum().gradient(table)
        return grad.realize()

    jitted = TinyJit(step)
    traced = function(lambda t, i, w: (t[i] * w).sum().gradient(t)[0])
    for _ in range(4):
        index = RNG.integers(0, 200, 64)
        wanted = np.zeros((200, 16), np.float32)
        np.add.at(wanted, index, weight)
        arguments = Tensor(index).realize(), Tensor(weight).realize()
        for found in (jitted(*arguments), traced(table, *arguments)):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_nothing_to_look_up() -> None:
    x = Tensor(np.zeros(0, np.float32))
    assert x.diag().sum().gradient(x)[0].tolist() == []
