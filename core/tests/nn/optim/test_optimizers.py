"""Optimizers against the published update formulas, evaluated in float64 with numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import ConfigError, GradientError
from tg_core.jit import TinyJit
from tg_core.nn.optim import SGD, Adam, AdamW, Optimizer
from tg_core.tensor import Tensor

Array = np.ndarray
STEPS = 6
START = np.array([[0.5, -1.25, 2.0], [0.0, 3.5, -0.75]])
TARGET = np.array([[1.0, 1.0, -1.0], [0.25, 3.5, 2.0]])


def gradient_of_loss(value: Array) -> Array:
    """Gradient of `sum((p - target)**4) / 4`."""
    return (value - TARGET) ** 3


def reference_sgd(
    lr: float, momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False
) -> Iterator[Array]:
    value, buffer = START.copy(), np.zeros_like(START)
    while True:
        gradient = gradient_of_loss(value) + weight_decay * value
        buffer = momentum * buffer + gradient
        value = value - lr * (gradient + momentum * buffer if nesterov else buffer)
        yield value


def reference_adamw(
    lr: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0
) -> Iterator[Array]:
    value, first, second = START.copy(), np.zeros_like(START), np.zeros_like(START)
    step = 0
    while True:
        step += 1
        gradient = gradient_of_loss(value)
        value = value - lr * weight_decay * value
        first = b1 * first + (1 - b1) * gradient
        second = b2 * second + (1 - b2) * gradient**2
        corrected = (first / (1 - b1**step)) / (np.sqrt(second / (1 - b2**step)) + eps)
        value = value - lr * corrected
        yield value


CASES: list[tuple[str, Callable[[list[Tensor]], Optimizer], Iterator[Array]]] = [
    ("sgd", lambda p: SGD(p, lr=0.01), reference_sgd(0.01)),
    ("decay", lambda p: SGD(p, lr=0.01, weight_decay=0.1), reference_sgd(0.01, 0.0, 0.1)),
    ("momentum", lambda p: SGD(p, lr=0.01, momentum=0.9), reference_sgd(0.01, 0.9)),
    (
        "nesterov",
        lambda p: SGD(p, lr=0.01, momentum=0.8, weight_decay=0.05, nesterov=True),
        reference_sgd(0.01, 0.8, 0.05, True),
    ),
    ("adam", lambda p: Adam(p, lr=0.05), reference_adamw(0.05)),
    (
        "adam-settings",
        lambda p: Adam(p, lr=0.02, b1=0.5, b2=0.9, eps=1e-3),
        reference_adamw(0.02, 0.5, 0.9, 1e-3),
    ),
    ("adamw", lambda p: AdamW(p, lr=0.05), reference_adamw(0.05, weight_decay=0.01)),
    (
        "adamw-decay",
        lambda p: AdamW(p, lr=0.05, weight_decay=0.3),
        reference_adamw(0.05, weight_decay=0.3),
    ),
]


def new_parameter(dtype: str = "float32") -> Tensor:
    return Tensor(START.tolist(), dtype=dtype)


def take_step(optimizer: Optimizer, parameter: Tensor) -> None:
    optimizer.zero_grad()
    difference = parameter - Tensor(TARGET.tolist(), dtype=parameter.dtype)
    (difference.square().square().sum() / 4).backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("make", "reference"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_steps_follow_the_published_formula(
    make: Callable[[list[Tensor]], Optimizer], reference: Iterator[Array]
) -> None:
    parameter = new_parameter()
    optimizer = make([parameter])
    for step in range(STEPS):
        take_step(optimizer, parameter)
        np.testing.assert_allclose(
            parameter.numpy(), next(reference), rtol=2e-5, atol=2e-6, err_msg=f"step {step + 1}"
        )


def test_the_learning_rate_can_change_between_steps() -> None:
    parameter = new_parameter()
    optimizer = SGD([parameter], lr=0.01)
    take_step(optimizer, parameter)
    before = parameter.numpy().astype(np.float64)
    optimizer.lr.assign([0.002]).realize()
    take_step(optimizer, parameter)
    expected = before - 0.002 * gradient_of_loss(before)
    np.testing.assert_allclose(parameter.numpy(), expected, rtol=1e-5)


def test_narrow_floats_are_updated_in_float32_and_rounded_once() -> None:
    parameter = new_parameter("float16")
    gradient = np.float16(0.1)
    optimizer = SGD([parameter], lr=0.001)
    parameter.grad = Tensor([[float(gradient)] * 3] * 2, dtype="float16")
    optimizer.step()
    moved = START.astype(np.float32) - np.float32(gradient) * np.float32(0.001)
    assert parameter.dtype is dtypes.float16
    np.testing.assert_array_equal(parameter.numpy(), moved.astype(np.float16))


def test_a_parameter_given_twice_is_moved_once() -> None:
    parameter = new_parameter()
    optimizer = SGD([parameter, parameter], lr=0.01)
    take_step(optimizer, parameter)
    np.testing.assert_allclose(parameter.numpy(), next(reference_sgd(0.01)), rtol=1e-5)


def test_parameters_without_gradient_and_counters_stay() -> None:
    parameter, unused = new_parameter(), Tensor([1.0, 2.0])
    counter = Tensor([7], dtype="int64")
    optimizer = AdamW([unused, counter, parameter], lr=0.1)
    take_step(optimizer, parameter)
    assert unused.tolist() == [1.0, 2.0]
    assert counter.tolist() == [7]
    assert [id(t) for t in optimizer.params] == [id(unused), id(parameter)]


def test_zero_grad_forgets_gradients() -> None:
    parameter = new_parameter()
    optimizer = SGD([parameter])
    take_step(optimizer, parameter)
    assert parameter.grad is not None
    optimizer.zero_grad()
    assert parameter.grad is None


def test_a_step_without_gradients_is_an_error_invalid() -> None:
    with pytest.raises(GradientError, match="none of the 1 parameters has a gradient"):
        SGD([new_parameter()]).step()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: SGD(p, lr=-1.0), "SGD: lr=-1.0"),
        (lambda p: SGD(p, momentum=1.0), "SGD: momentum=1.0"),
        (lambda p: SGD(p, weight_decay=-0.1), "SGD: weight_decay=-0.1"),
        (lambda p: SGD(p, nesterov=True), "nesterov needs a momentum"),
        (lambda p: Adam(p, b1=1.0), "Adam: b1=1.0"),
        (lambda p: Adam(p, eps=float("nan")), "Adam: eps=nan"),
        (lambda p: AdamW(p, b2=-0.5), "AdamW: b2=-0.5"),
    ],
)
def test_settings_out_of_range_are_errors_invalid(
    make: Callable[[list[Tensor]], Optimizer], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        make([new_parameter()])


def test_nothing_to_optimize_is_an_error_invalid() -> None:
    with pytest.raises(ConfigError, match="no float tensor"):
        Adam([Tensor([1], dtype="int32")])


def test_steps_replay_in_a_jit() -> None:
    """Seven steps, five of them replayed, follow the formula as eager steps do."""
    parameter, target = new_parameter(), Tensor(TARGET.tolist(), dtype="float32").realize()
    optimizer = AdamW([parameter], lr=0.05)

    @TinyJit
    def step(goal: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = ((parameter - goal).square().square().sum() / 4).backward()
        return loss.realize(*optimizer.schedule_step())

    reference = reference_adamw(0.05, weight_decay=0.01)
    for number in range(7):
        step(target)
        expected = next(reference)
        np.testing.assert_allclose(
            parameter.numpy(), expected, rtol=2e-5, atol=2e-6, err_msg=f"step {number + 1}"
        )
