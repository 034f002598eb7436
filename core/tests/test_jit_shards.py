"""Captured functions of tensors over several devices."""

from __future__ import annotations

import numpy as np
import pytest

from tg_core import Tensor, TinyJit, nn
from tg_core.config import Context
from tg_core.errors import JitError

TWO = ("PYTHON", "PYTHON:1")
RNG = np.random.default_rng(17)
A = RNG.normal(size=(6, 4)).astype(np.float32)


@pytest.fixture(autouse=True)
def on_the_interpreter() -> object:
    with Context(DEV="PYTHON"):
        yield


@pytest.mark.parametrize("axis", [0, 1, None])
def test_replays_see_new_parts(axis: int | None) -> None:
    weights = Tensor(RNG.normal(size=(4, 3)).astype(np.float32)).shard(TWO).realize()
    expected = weights.numpy()

    @TinyJit
    def product(x: Tensor) -> Tensor:
        return (x @ weights).realize()

    for step in range(4):
        x = Tensor(A + step).shard(TWO, axis).realize()
        found = product(x)
        assert found.device == TWO
        np.testing.assert_allclose(found.numpy(), (A + step) @ expected, rtol=1e-4, atol=1e-5)


def test_results_that_are_held_stay() -> None:
    @TinyJit
    def double(x: Tensor) -> Tensor:
        return (x * 2).realize()

    held = [double(Tensor(A + step).shard(TWO, 0).realize()) for step in range(5)]
    for step, result in enumerate(held):
        np.testing.assert_array_equal(result.numpy(), (A + step) * 2)


def test_empty_and_lazy_parts_are_taken() -> None:
    @TinyJit
    def double(x: Tensor) -> Tensor:
        return (x * 2).realize()

    for step in range(4):
        x = Tensor(A[:1] + step).shard(TWO, 0) + 1
        np.testing.assert_allclose(double(x).numpy(), (A[:1] + step + 1) * 2, rtol=1e-6)


@pytest.mark.parametrize("jit", [0, 1])
def test_training_replays(jit: int) -> None:
    def train(devices: tuple[str, ...] | None) -> np.ndarray:
        Tensor.manual_seed(0)
        layer = nn.Linear(4, 1)
        if devices is not None:
            for parameter in nn.state.get_parameters(layer):
                parameter.shard_(devices)
        optimizer = nn.optim.SGD(nn.state.get_parameters(layer), lr=0.05, momentum=0.9)

        @TinyJit
        def step(x: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = (layer(x) - 1).square().mean()
            loss.backward()
            optimizer.step()
            return loss.realize()

        for number in range(4):
            x = Tensor(A * number)
            step(x if devices is None else x.shard(devices, 0))
        return layer.weight.numpy()

    with Context(JIT=jit):
        np.testing.assert_allclose(train(TWO), train(None), rtol=1e-4, atol=1e-6)


def test_another_split_is_an_error_that_names_it() -> None:
    @TinyJit
    def double(x: Tensor) -> Tensor:
        return (x * 2).realize()

    square = RNG.normal(size=(4, 4)).astype(np.float32)
    for _ in range(3):
        double(Tensor(square).shard(TWO, 0).realize())
    with pytest.raises(JitError, match="along axis 0 on PYTHON"):
        double(Tensor(square).shard(TWO, 1).realize())
    with pytest.raises(JitError, match="args"):
        double(Tensor(square).realize())
