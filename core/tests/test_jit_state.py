"""What a captured function writes: every call leaves the state that a plain call leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit, Variable, function
from tg_core.errors import JitError

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


def test_what_reads_state_lazily_keeps_its_value() -> None:
    state = ramp(3)

    @TinyJit
    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x * 2

    readers = []
    for number in range(6):
        readers.append((state * 10, [10.0 * (i + number) for i in range(3)]))
        if number % 2:
            readers.append((readers[-1][0] + state.flip(0), None))
        step(Tensor([1.0, 1.0, 1.0]))
    for number, (reader, expected) in enumerate(readers):
        if expected is not None:
            assert reader.tolist() == expected, number
        else:
            half = np.array(readers[number - 1][1])
            assert reader.tolist() == (half + half[::-1] / 10).tolist()


def test_what_reads_an_argument_lazily_keeps_its_value() -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        x.assign(x * 2)
        return x + 0

    tensors = [ramp(3, 1) for _ in range(3)]
    for number in range(6):
        x = tensors[number % 3]
        before = x.tolist()
        reader, part = x + 1, x[1:] * 3
        step(x)
        assert reader.tolist() == [value + 1 for value in before]
        assert part.tolist() == [value * 3 for value in before[1:]]
        assert x.tolist() == [value * 2 for value in before]


def test_a_reader_that_was_bound_later_keeps_its_value() -> None:
    state, other = ramp(3), ramp(3)

    @TinyJit
    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x * 2

    for number in range(5):
        other.replace(state * 2)
        step(Tensor([1.0, 1.0, 1.0]))
        assert other.tolist() == [2.0 * (i + number) for i in range(3)]


def test_writes_between_calls_are_seen_and_done_once() -> None:
    rate, total = Tensor([1.0]).realize(), Tensor([0.0]).realize()

    @TinyJit
    def step(x: Tensor) -> Tensor:
        total.assign(total + rate)
        return (x * rate).contiguous()

    expected = 0.0
    for number in range(6):
        rate.assign(Tensor([float(number)]))
        if number == 4:
            total.assign(total * 0)
            expected = 0
        assert step(Tensor([2.0])).tolist() == [2.0 * number]
        expected += number
        assert total.tolist() == [expected]
    assert rate.tolist() == [5.0]


def test_writes_of_another_thread_stay_pending() -> None:
    theirs = [ramp(3) for _ in range(2)]
    mine = ramp(3)
    started, written = threading.Event(), threading.Event()

    def work() -> None:
        started.wait()
        theirs[0].assign(theirs[0] + 1)
        written.set()

    thread = threading.Thread(target=work)
    thread.start()

    def step(x: Tensor) -> Tensor:
        mine.assign(mine + x)
        started.set()
        written.wait()
        return x * 2

    jit = TinyJit(step)
    jit(ramp(3))
    thread.join()
    assert theirs[0].uop.op.name == "AFTER"
    assert mine.uop.op.name == "BUFFER"
    assert theirs[0].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_an_exception_leaves_what_a_plain_call_leaves(fails_at: int) -> None:
    state = ramp(3)
    matrix = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3)).realize()
    number = [0]

    def step(x: Tensor) -> Tensor:
        number[0] += 1
        state.assign(state + 1)
        x.assign(x * 2)
        if number[0] == fails_at + 1:
            raise ValueError("in the middle")
        return x + 0

    jit = TinyJit(step)
    array, steps = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(3, dtype=np.float32)
    for call in range(5):
        view, part = matrix.permute(1, 0)[1:], array.T[1:]
        if call == fails_at < 2:
            with pytest.raises(ValueError, match="in the middle"):
                jit(view)
        else:
            jit(view)
        part *= 2
        steps += 1
        assert matrix.tolist() == array.tolist()
        assert state.tolist() == steps.tolist()


def test_an_argument_that_is_state() -> None:
    state = ramp(3, 1)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x * state

    jit = TinyJit(step)
    other, expected = ramp(3, 5), np.arange(1, 4, dtype=np.float32)
    for number in range(8):
        if number in (4, 6):
            expected = expected + other.numpy()
            assert jit(other).tolist() == (other.numpy() * expected).tolist()
        else:
            expected = expected + expected
            assert jit(state).tolist() == (expected * expected).tolist()
        assert state.tolist() == expected.tolist()


def test_an_argument_that_is_state_later() -> None:
    state = ramp(3, 1)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return x * state

    jit = TinyJit(step)
    for _ in range(3):
        jit(ramp(3))
    before = state.numpy()
    assert jit(state).tolist() == (4 * before * before).tolist()
    assert state.tolist() == (2 * before).tolist()
    assert jit(ramp(3)).tolist() == (np.arange(3) * (2 * before + np.arange(3))).tolist()


def test_weights_that_are_an_argument_once_stay_weights() -> None:
    weights = ramp(3)
    jit = TinyJit(lambda x: (x * weights).contiguous())
    jit(weights)
    assert jit(weights).tolist() == [0.0, 1.0, 4.0]
    assert jit(ramp(3, 1)).tolist() == [0.0, 2.0, 6.0]


def test_one_tensor_written_as_two_arguments() -> None:
    def step(p: Tensor, q: Tensor) -> Tensor:
        p.assign(p + 1)
        return q * 2

    jit = TinyJit(step)
    for _ in range(3):
        x, y = ramp(3), ramp(3)
        assert jit(x, y).tolist() == [0.0, 2.0, 4.0]
    x = ramp(3)
    assert jit(x, x).tolist() == [2.0, 4.0, 6.0]
    assert x.tolist() == [1.0, 2.0, 3.0]
    same = TinyJit(step)
    same_x = ramp(3)
    for number in range(4):
        assert same(same_x, same_x).tolist() == [2.0 * (i + number + 1) for i in range(3)]
    refused = TinyJit(step)
    refused(x := ramp(3), x)
    with pytest.raises(JitError, match=r"args\[.\] and args\[.\] share memory"):
        refused(x := ramp(3), x)
    assert refused(ramp(3), ramp(3)).tolist() == [0.0, 2.0, 4.0]


def test_an_argument_that_gets_another_value() -> None:
    def step(x: Tensor) -> Tensor:
        x[Tensor([2, 0])] = Tensor([7.0, 8.0])
        return x.sum()

    jit = TinyJit(step)
    for number in range(5):
        x = ramp(3, number)
        alias = x.reshape(3, 1)
        assert jit(x).item() == number + 1 + 15
        assert x.tolist() == [8.0, number + 1, 7.0]
        assert alias.tolist() == [[number], [number + 1], [number + 2]]


def test_a_value_that_others_share_is_given_away() -> None:
    state = ramp(3)
    aliases = [state.reshape(3, 1)]

    def step(x: Tensor) -> Tensor:
        state.replace(state + x)
        return aliases[0].sum() + x

    jit = TinyJit(step)
    for number in range(7):
        if number < 4:
            aliases.append(state.reshape(3, 1))
        assert jit(ramp(3)).tolist() == [3.0, 4.0, 5.0]
        assert state.tolist() == [0.0, number + 2, 2.0 * number + 4]
    for number, alias in enumerate(aliases[1:]):
        assert alias.tolist() == [[0.0], [number + 1], [2.0 * number + 2]]


def test_what_was_drawn_before_stays() -> None:
    Tensor.manual_seed(3)
    drawn = Tensor.rand(4, contiguous=False)
    expected = drawn.tolist()
    jit = TinyJit(lambda x: (x + drawn + 0 * Tensor.rand(4)).contiguous())
    for _ in range(4):
        assert jit(Tensor([0.0] * 4)).tolist() == expected


def test_intermediate_storage_is_no_state() -> None:
    def step(x: Tensor) -> Tensor:
        return ((x + 1).realize() * 2).contiguous()

    with Context(JIT_CHECK=3):
        jit = TinyJit(step)
    for number in range(5):
        assert jit(ramp(2, number)).tolist() == [2.0 * (number + 1), 2.0 * (number + 2)]


def test_a_file_holds_state() -> None:
    import pickle

    state = ramp(3)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x)
        return state * 2

    jit = TinyJit(step)
    for _ in range(3):
        jit(ramp(3, 1))
    loaded = pickle.loads(pickle.dumps(jit))
    assert loaded(ramp(3, 1)).tolist() == [8.0, 18.0, 28.0]
    assert loaded(ramp(3, 1)).tolist() == [10.0, 22.0, 34.0]
    assert state.tolist() == [3.0, 7.0, 11.0]
    bound = TinyJit(lambda x: state.replace(state + x) + 0)
    for _ in range(3):
        bound(ramp(3))
    with pytest.raises(JitError, match="which a file cannot do"):
        pickle.dumps(bound)


def test_a_pending_write_reads_state_that_the_call_overwrites() -> None:
    first, second = ramp(2, 1), ramp(2)

    def step(x: Tensor) -> Tensor:
        second.assign(first + x)
        first.assign(first * 2).realize()
        return first + 0

    jit = TinyJit(step)
    expected = np.array([1.0, 2.0])
    for _ in range(5):
        before, expected = expected, expected * 2
        assert jit(ramp(2)).tolist() == expected.tolist()
        assert second.tolist() == [before[0], before[1] + 1]


def test_state_without_storage_is_written_in_several_ways() -> None:
    def run(wrap: Callable[..., Any]) -> list[Any]:
        states = [ramp(4, start) for start in (1, 5, 9)]

        def step(x: Tensor) -> Tensor:
            a, b, c = states
            c.flip(0).assign(c - a + x)
            a.replace(a + x)
            a.assign(b - c + x)
            c[2:].assign((a - c + x)[2:])
            b[1:].assign((c + x)[1:])
            return a * 2 + x

        jit = wrap(step)
        seen = []
        for number in range(5):
            seen.append((jit(ramp(4, number)).tolist(), values(states)))
            if number == 0:
                states[2].replace(states[2] - ramp(4))
        return seen

    assert run(TinyJit) == run(lambda step: step)


def test_an_argument_that_is_bound_from_outside_is_refused_where_nothing_is_captured() -> None:
    a, b = ramp(4), ramp(4, 10.0)

    @TinyJit
    def step(x: Tensor) -> Tensor:
        b[Tensor([0])] = x[1:2]
        a.assign(a + x)
        # `a` becomes a view of itself, for which a call is never taken as a capture
        a.replace(a.detach())
        return (x + 1).realize()

    for number in range(3):
        x = ramp(4, 20.0 + number)
        step(x)
    assert a.tolist() == [0 + 20 + 21 + 22, 1 + 21 + 22 + 23, 2 + 22 + 23 + 24, 3 + 23 + 24 + 25]
    assert b.tolist() == [23.0, 11.0, 12.0, 13.0]
    with pytest.raises(JitError, match="gives another value from outside of its arguments"):
        step(b)
