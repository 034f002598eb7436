"""Gradients in captured functions: added to, thrown away, read, by the function and outside of
it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit
from tg_core.nn.optim import SGD

Step = Callable[[Tensor], Tensor]
Program = Callable[[Callable[[Step], Step]], list[list[float]]]
"""Runs a function that is wrapped or not, and returns what there was to see."""


def weight(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, dtype=np.float32)).realize().is_param_()


def batch(number: int) -> Tensor:
    return Tensor(np.array([1.0, number + 1.0], dtype=np.float32)).realize()


def gradient_of(w: Tensor) -> list[float]:
    assert w.grad is not None
    found: list[float] = w.grad.tolist()
    return found


def adds_up(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    step = wrap(lambda x: (w * x * x).sum().backward())
    seen = []
    for number in range(6):
        seen.append([step(batch(number)).item(), *gradient_of(w)])
    return seen


def adds_up_in_rounds(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    optimizer = SGD([w], lr=0.125)
    step = wrap(lambda x: (w * w * x).sum().backward())
    seen = []
    for _ in range(4):
        for number in range(4):
            seen.append([step(batch(number)).item()])
        seen.append(gradient_of(w))
        optimizer.step()
        optimizer.zero_grad()
        seen.append(w.tolist())
    return seen


def steps(w: Tensor, first: bool, last: bool) -> Step:
    optimizer = SGD([w], lr=0.125)

    def step(x: Tensor) -> Tensor:
        if first:
            optimizer.zero_grad()
        loss = (w * w * x).sum().backward()
        optimizer.step()
        if last:
            optimizer.zero_grad()
        return loss

    return step


def forgets_first(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    step = wrap(steps(w, True, False))
    return [[step(batch(number)).item(), *w.tolist()] for number in range(6)]


def forgets_last(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    step = wrap(steps(w, False, True))
    return [[step(batch(number)).item(), *w.tolist()] for number in range(6)]


def forgets_outside(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    step = wrap(steps(w, False, False))
    seen = []
    for number in range(6):
        w.grad = None
        seen.append([step(batch(number)).item(), *w.tolist()])
    return seen


def never_forgets(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    step = wrap(steps(w, False, False))
    return [[step(batch(number)).item(), *w.tolist(), *gradient_of(w)] for number in range(6)]


def only_the_step(wrap: Callable[[Step], Step]) -> list[list[float]]:
    w = weight(1, 2)
    optimizer = SGD([w], lr=0.125)

    def update(x: Tensor) -> Tensor:
        optimizer.step()
        return w + x

    step = wrap(update)
    seen = []
    for number in range(6):
        optimizer.zero_grad()
        (w * w * batch(number)).sum().backward()
        seen.append([*step(batch(0)).tolist(), *w.tolist()])
    return seen


@pytest.mark.parametrize(
    "program",
    [
        adds_up,
        adds_up_in_rounds,
        forgets_first,
        forgets_last,
        forgets_outside,
        never_forgets,
        only_the_step,
    ],
)
@pytest.mark.parametrize("checks", [0, 2])
def test_training_is_as_without_the_jit(program: Program, checks: int) -> None:
    expected = program(lambda step: step)
    with Context(JIT_CHECK=checks):
        found = program(TinyJit)
    assert found == expected


@pytest.mark.parametrize("program", [forgets_first, forgets_last, forgets_outside])
def test_usual_loops_are_replayed(program: Program) -> None:
    calls = []

    def counted(step: Step) -> Step:
        def run(x: Tensor) -> Tensor:
            calls.append(1)
            return step(x)

        return TinyJit(run)

    program(counted)
    assert len(calls) <= 3


def test_a_gradient_is_added_to_in_place() -> None:
    w = weight(1, 2)
    (w * 3).sum().backward()
    held = w.grad
    seed = Tensor([1.0, 10.0]).realize()
    (w + 0).backward(seed)
    assert w.grad is held
    assert gradient_of(w) == [4.0, 13.0]
    assert seed.tolist() == [1.0, 10.0]
