"""LARS, LAMB, Muon, groups and schedules against their formulas in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tg_core.errors import ConfigError, GradientError
from tg_core.nn import optim
from tg_core.tensor import Tensor

Array = np.ndarray
START = np.array([[0.5, -1.25, 2.0], [0.0, 3.5, -0.75]])
TARGET = np.array([[1.0, 1.0, -1.0], [0.25, 3.5, 2.0]])


def gradient_of_loss(value: Array) -> Array:
    """Gradient of `sum((p - target)**4) / 4`."""
    result: Array = (value - TARGET) ** 3
    return result


def reference_lars(lr: float, momentum: float, decay: float, tcoef: float) -> Iterator[Array]:
    value, buffer = START.copy(), np.zeros_like(START)
    while True:
        gradient = gradient_of_loss(value)
        size, slope = np.linalg.norm(value), np.linalg.norm(gradient)
        trust = tcoef * size / (slope + decay * size)
        buffer = momentum * buffer + lr * trust * (gradient + decay * value)
        value = value - buffer
        yield value


def reference_lamb(
    lr: float, decay: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-6
) -> Iterator[Array]:
    value, first, second = START.copy(), np.zeros_like(START), np.zeros_like(START)
    step = 0
    while True:
        step += 1
        gradient = gradient_of_loss(value)
        first = b1 * first + (1 - b1) * gradient
        second = b2 * second + (1 - b2) * gradient**2
        direction = (first / (1 - b1**step)) / (np.sqrt(second / (1 - b2**step)) + eps)
        direction = direction + decay * value
        value = value - lr * np.linalg.norm(value) / np.linalg.norm(direction) * direction
        yield value


def orthogonalize(matrix: Array) -> Array:
    """Apply the polynomial five times to each singular value."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    values = values / (np.linalg.norm(values) + 1e-7)
    for _ in range(5):
        values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
    result: Array = (left * values) @ right
    return result


def reference_muon(lr: float, momentum: float, decay: float, nesterov: bool) -> Iterator[Array]:
    value, buffer = START.copy(), np.zeros_like(START)
    while True:
        gradient = gradient_of_loss(value)
        buffer = momentum * buffer + gradient
        step = orthogonalize(gradient + momentum * buffer if nesterov else buffer)
        value = value * (1 - lr * decay) - lr * step
        yield value


def lars(params: list[Tensor]) -> optim.Optimizer:
    return optim.LARS(params, lr=0.5, momentum=0.8, weight_decay=0.01, tcoef=0.05)


def lamb(params: list[Tensor]) -> optim.Optimizer:
    return optim.LAMB(params, lr=0.02, weight_decay=0.1)


def muon(params: list[Tensor]) -> optim.Optimizer:
    return optim.Muon(params, lr=0.05, momentum=0.9, weight_decay=0.1)


def plain_muon(params: list[Tensor]) -> optim.Optimizer:
    return optim.Muon(params, lr=0.05, momentum=0.9, nesterov=False)


def take_step(optimizer: optim.Optimizer | optim.OptimizerGroup, *params: Tensor) -> None:
    optimizer.zero_grad()
    losses = [(each - Tensor(TARGET.tolist())).square().square().sum() / 4 for each in params]
    sum(losses[1:], losses[0]).backward()
    optimizer.step()


@pytest.mark.parametrize(
    ("make", "reference"),
    [
        (lars, reference_lars(0.5, 0.8, 0.01, 0.05)),
        (lamb, reference_lamb(0.02, 0.1)),
        (muon, reference_muon(0.05, 0.9, 0.1, True)),
        (plain_muon, reference_muon(0.05, 0.9, 0.0, False)),
    ],
    ids=["lars", "lamb", "muon", "muon-plain"],
)
def test_steps_follow_the_published_formula(
    make: Callable[[list[Tensor]], optim.Optimizer], reference: Iterator[Array]
) -> None:
    parameter = Tensor(START.tolist())
    optimizer = make([parameter])
    for step in range(4):
        take_step(optimizer, parameter)
        np.testing.assert_allclose(
            parameter.numpy(), next(reference), rtol=1e-4, atol=2e-5, err_msg=f"step {step + 1}"
        )


@pytest.mark.parametrize("kind", [optim.LARS, optim.LAMB])
def test_a_parameter_of_zeros_moves_by_the_plain_rate(
    kind: type[optim.LARS] | type[optim.LAMB],
) -> None:
    parameter = Tensor([0.0, 0.0])
    optimizer = kind([parameter], lr=0.5, weight_decay=0.0)
    parameter.grad = Tensor([1.0, -1.0])
    optimizer.step()
    np.testing.assert_allclose(parameter.numpy(), [-0.5, 0.5], rtol=1e-5)


def test_muon_scales_tall_matrices_and_flattens_windows() -> None:
    gradient = np.random.default_rng(2).standard_normal((8, 1, 1, 2)).astype(np.float32)
    parameter = Tensor(np.zeros((8, 1, 1, 2), np.float32))
    optimizer = optim.Muon([parameter], lr=0.1, momentum=0.0)
    parameter.grad = Tensor(gradient)
    optimizer.step()
    expected = -0.1 * 2.0 * orthogonalize(gradient.reshape(8, 2).astype(np.float64))
    np.testing.assert_allclose(parameter.numpy().reshape(8, 2), expected, rtol=1e-4, atol=1e-5)


def test_muon_needs_matrices_invalid() -> None:
    with pytest.raises(ConfigError, match=r"Muon: expected two axes or more, found shape \(3,\)"):
        optim.Muon([Tensor.zeros(3)])


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        (optim.LARS, {"momentum": 1.0}),
        (optim.LARS, {"tcoef": 0.0}),
        (optim.LAMB, {"b1": 1.0}),
        (optim.Muon, {"ns_steps": 0}),
    ],
)
def test_settings_out_of_range_invalid(
    kind: Callable[..., optim.Optimizer], setting: dict[str, float]
) -> None:
    (name,) = setting
    with pytest.raises(ConfigError, match=f"{name}=.* is out of range"):
        kind([Tensor.zeros(2, 2)], **setting)


def test_a_group_steps_each_with_its_own_settings() -> None:
    first, second = Tensor(START.tolist()), Tensor(START.tolist())
    group = optim.OptimizerGroup(optim.SGD([first], lr=0.01), muon([second]))
    reference = reference_muon(0.05, 0.9, 0.1, True)
    plain = START.copy()
    for _ in range(2):
        take_step(group, first, second)
        plain = plain - 0.01 * gradient_of_loss(plain)
        np.testing.assert_allclose(first.numpy(), plain, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(second.numpy(), next(reference), rtol=1e-4, atol=2e-5)


def test_a_group_leaves_out_members_without_gradients() -> None:
    first, second = Tensor(START.tolist()), Tensor([1.0, 2.0])
    group = optim.OptimizerGroup(optim.SGD([first], lr=0.01), optim.Adam([second]))
    take_step(group, first)
    assert second.tolist() == [1.0, 2.0]
    group.zero_grad()
    with pytest.raises(GradientError, match="none of the 2 parameters has a gradient"):
        group.step()


def test_groups_check_their_members_invalid() -> None:
    shared = Tensor([1.0])
    with pytest.raises(ConfigError, match="at least one"):
        optim.OptimizerGroup()
    with pytest.raises(ConfigError, match="a parameter is in two optimizers"):
        optim.OptimizerGroup(optim.SGD([shared]), optim.Adam([shared]))


def rates(make: Callable[[optim.Optimizer], optim.Schedule], steps: int) -> list[float]:
    optimizer = optim.SGD([Tensor([1.0])], lr=0.5)
    schedule = make(optimizer)
    found = [optimizer.lr.item()]
    for _ in range(steps):
        schedule.step()
        found.append(optimizer.lr.item())
    return [float(rate) for rate in found]


def multi_step(optimizer: optim.Optimizer) -> optim.Schedule:
    return optim.MultiStepLR(optimizer, [2, 3], 0.1)


def exponential(optimizer: optim.Optimizer) -> optim.Schedule:
    return optim.ExponentialLR(optimizer, 0.5)


def warmup(optimizer: optim.Optimizer) -> optim.Schedule:
    return optim.LinearWarmupLR(optimizer, 4)


def cosine(optimizer: optim.Optimizer) -> optim.Schedule:
    return optim.CosineAnnealingLR(optimizer, 4, 0.2)


def one_cycle(optimizer: optim.Optimizer) -> optim.Schedule:
    return optim.OneCycleLR(optimizer, 4, 0.5, 0.1, 0.0)


ROOT = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (multi_step, [0.5, 0.5, 0.05, 0.005, 0.005]),
        (exponential, [0.5, 0.25, 0.125, 0.0625, 0.03125]),
        (warmup, [0.125, 0.25, 0.375, 0.5, 0.5]),
        (cosine, [0.5, 0.3 + 0.2 * ROOT, 0.3, 0.3 - 0.2 * ROOT, 0.1, 0.1]),
        (one_cycle, [0.05, 0.275, 0.5, 0.25, 0.0, 0.0]),
    ],
)
def test_schedules_follow_their_curves(
    make: Callable[[optim.Optimizer], optim.Schedule], expected: list[float]
) -> None:
    np.testing.assert_allclose(rates(make, len(expected) - 1), expected, rtol=1e-5, atol=1e-7)


def test_a_schedule_of_a_group_keeps_the_shares() -> None:
    first, second = optim.SGD([Tensor([1.0])], lr=0.5), optim.SGD([Tensor([1.0])], lr=0.1)
    optim.ExponentialLR(optim.OptimizerGroup(first, second), 0.5).step()
    np.testing.assert_allclose([first.lr.item(), second.lr.item()], [0.25, 0.05], rtol=1e-6)


def test_schedules_check_their_settings_invalid() -> None:
    optimizer = optim.SGD([Tensor([1.0])])
    for kind, setting in (
        (optim.ExponentialLR, {"gamma": -1.0}),
        (optim.LinearWarmupLR, {"warmup": 0}),
        (optim.CosineAnnealingLR, {"total": 0}),
    ):
        with pytest.raises(ConfigError, match="is out of range"):
            kind(optimizer, **setting)
