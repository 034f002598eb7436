"""What a captured function writes: every call leaves the state that a plain call leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit, Variable, function

Make = Callable[[], tuple[Callable[..., Any], Callable[[], list[Tensor]]]]
"""Makes a function, and one that returns the state it works on."""


def ramp(size: int, start: float = 0.0) -> Tensor:
    return Tensor(np.arange(start, start + size, dtype=np.float32)).realize()


def values(state: list[Tensor]) -> list[Any]:
    return [t.tolist() for t in state]


def history(make: Make, calls: int, arguments: Callable[[int], tuple[Any, ...]], jit: bool) -> Any:
    """Return what each call returned and left."""
    step, state = make()
    run = TinyJit(step) if jit else step
    seen = []
    for number in range(calls):
        result = run(*arguments(number))
        results = result if isinstance(result, (list, tuple)) else [result]
        if make is running_mean:
            # the order of a sum may depend on what it is computed with
            results[0].realize(*state())
        seen.append((values(results), values(state())))
    return seen


def pending_write() -> Any:
    state = ramp(3)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x * 2

    return step, lambda: [state]


def item_write() -> Any:
    buffer = ramp(6)

    def step(x: Tensor) -> Tensor:
        buffer[2:5] = x * buffer[0]
        buffer[0] = buffer[0] + 1
        return x + 0

    return step, lambda: [buffer]


def positions_write() -> Any:
    buffer = ramp(6)

    def step(x: Tensor) -> Tensor:
        buffer[Tensor([4, 1, 0])] = x + buffer[:3]
        return x + 0

    return step, lambda: [buffer]


def view_of_state() -> Any:
    state = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
    column, alias = state.permute(1, 0)[1], state.reshape(12)

    def step(x: Tensor) -> Tensor:
        column.assign(column + x)
        return alias[:3] * x

    return step, lambda: [state, column, alias]


def running_mean() -> Any:
    from tg_core.nn import BatchNorm

    norm = BatchNorm(2)

    def step(x: Tensor) -> Tensor:
        with Tensor.train():
            return norm(x.reshape(1, 1, 3).expand(4, 2, 3)).sum()

    return step, lambda: [norm.running_mean, norm.running_var, norm.num_batches_tracked]


def lazily_created() -> Any:
    state, zeros, drawn = Tensor([1.0, 2.0, 3.0]), Tensor.zeros(3), Tensor.rand(3)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        zeros.assign(zeros + x)
        return x + drawn

    return step, lambda: [state, zeros, drawn]


def swapped() -> Any:
    first, second = ramp(3), ramp(3, 10)

    def step(x: Tensor) -> Tensor:
        kept = first + 0
        first.replace(second)
        second.replace(kept.contiguous())
        return first * x

    return step, lambda: [first, second]


def exchanged() -> Any:
    first, second = ramp(3), ramp(3, 10)

    def step(x: Tensor) -> Tensor:
        kept = first.detach()
        first.replace(second)
        second.replace(kept)
        return first * x

    return step, lambda: [first, second]


def exchanged_values() -> Any:
    first, second = ramp(3), ramp(3, 10)

    def step(x: Tensor) -> Tensor:
        kept = first + 0
        first.assign(second)
        second.assign(kept)
        return first * x

    return step, lambda: [first, second]


def read_before_and_after() -> Any:
    state = ramp(3)

    def step(x: Tensor) -> list[Tensor]:
        before = state * 2
        state.assign(state + x)
        return [before, state * 3]

    return step, lambda: [state]


def realized_in_the_middle() -> Any:
    state, other = ramp(3), ramp(3)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        other.assign(other + state)
        state.assign(state * 2)
        return x * 2

    return step, lambda: [state, other]


def traced() -> Any:
    state = ramp(3)

    @function
    def double(x: Tensor) -> Tensor:
        return x * 2

    unit = function(lambda x: x + 1, precompile=True)

    def step(x: Tensor) -> Tensor:
        state.assign(double(state) + unit(x))
        return double(x)

    return step, lambda: [state]


def nested() -> Any:
    state, inner_state = ramp(3), ramp(3)

    @TinyJit
    def inner(x: Tensor) -> Tensor:
        inner_state.assign(inner_state + x)
        return x * 2

    def step(x: Tensor) -> Tensor:
        state.assign(state + inner(x) + inner(x + 1))
        return x * 3

    return step, lambda: [state, inner_state]


def symbolic() -> Any:
    state = ramp(6)
    variable = Variable("n", 1, 6)

    def step(x: Tensor) -> Tensor:
        part = state[: variable.bind(3)]
        part.assign(part + x.sum())
        return x * 2

    return step, lambda: [state]


def shards() -> Any:
    whole, split = ramp(4).shard_(("CPU", "CPU:1")), ramp(6).shard_(("CPU", "CPU:1"), 0)

    def step(x: Tensor) -> Tensor:
        whole.assign(whole + 1)
        split.assign(split * 2 + 1)
        return x * 2

    return step, lambda: [whole, split]


def several_devices() -> Any:
    here, there = ramp(3), Tensor(np.ones(3, np.float32), device="PYTHON").realize()

    def step(x: Tensor) -> Tensor:
        there.assign(there + (here + x).to("PYTHON"))
        here.assign(here + x)
        return x * 2

    return step, lambda: [here, there]


def random_state() -> Any:
    Tensor.manual_seed(4)
    state = ramp(3)

    def step(x: Tensor) -> Tensor:
        state.assign(state + Tensor.rand(3))
        return x * Tensor.rand(3)

    return step, lambda: [state]


def written_through_a_new_alias() -> Any:
    state = ramp(3)

    def step(x: Tensor) -> Tensor:
        state.detach().assign(x + state)
        state.reshape(3, 1)[1].assign(state.sum().reshape(1))
        return x * 2

    return step, lambda: [state]


PROGRAMS = [
    pending_write,
    item_write,
    positions_write,
    view_of_state,
    running_mean,
    lazily_created,
    swapped,
    exchanged,
    exchanged_values,
    read_before_and_after,
    realized_in_the_middle,
    traced,
    nested,
    symbolic,
    shards,
    several_devices,
    random_state,
    written_through_a_new_alias,
]


@pytest.mark.parametrize("settings", [{}, {"JIT": 2}, {"JIT": 0}], ids=["1", "2", "0"])
@pytest.mark.parametrize("make", PROGRAMS)
def test_state_is_that_of_plain_calls(make: Make, settings: dict[str, int]) -> None:
    def arguments(number: int) -> tuple[Tensor]:
        return (Tensor([1.0, 2.0 * number, 3.0]),)

    Tensor.manual_seed(9)
    plain = history(make, 5, arguments, jit=False)
    Tensor.manual_seed(9)
    with Context(**settings):
        assert history(make, 5, arguments, jit=True) == plain
    assert plain[1][1] != plain[4][1]


@pytest.mark.parametrize("make", PROGRAMS)
def test_checked_runs_leave_the_same_state(make: Make) -> None:
    def arguments(number: int) -> tuple[Tensor]:
        return (Tensor([1.0, 2.0 * number, 3.0]),)

    Tensor.manual_seed(9)
    plain = history(make, 5, arguments, jit=False)
    Tensor.manual_seed(9)
    with Context(JIT_CHECK=2):
        assert history(make, 5, arguments, jit=True) == plain
