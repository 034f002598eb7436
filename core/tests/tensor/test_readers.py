"""Tensors that read storage lazily keep their values when a replay overwrites it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit
from tg_core.device import buffer_of
from tg_core.tensor.readers import lazy_readers
from tg_core.tensor.registry import changes, live_lock, note_change
from tg_core.tensor.states import storage_base


def vector(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, dtype=np.float32)).realize()


def memory_of(tensor: Tensor) -> set[int]:
    buffer = buffer_of(storage_base(tensor.uop))
    assert buffer is not None
    return {id(buffer.root)}


def write_all(target: Tensor, source: Tensor) -> None:
    target.assign(source * 2)


def write_part(target: Tensor, source: Tensor) -> None:
    target[1:3] = source[1:3] * 2
    target[0] = source[0] * 2


def bind(target: Tensor, source: Tensor) -> None:
    target.replace(source * 2)


@pytest.mark.parametrize("write", [write_all, write_part, bind])
def test_storage_that_is_to_be_computed_from_what_replays_overwrite(
    write: Callable[[Tensor, Tensor], None],
) -> None:
    state, target = vector(1, 2, 3), vector(0, 0, 0)

    def step(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        return state + 0

    jit = TinyJit(step)
    one = vector(1, 1, 1)
    for _ in range(4):
        jit(one)
    write(target, state)
    jit(one)
    assert target.tolist() == [10.0, 12.0, 14.0]
    assert state.tolist() == [6.0, 7.0, 8.0]


def test_a_reader_whose_constants_became_storage() -> None:
    source = vector(1, 2)
    first = Tensor.ones(2, device="CPU").contiguous() * 3
    second = first + 1
    with live_lock:
        assert not lazy_readers(memory_of(source))
    first.realize()
    with live_lock:
        assert any(reader is second for reader in lazy_readers(memory_of(first)))


def test_realizing_something_else_costs_replays_no_look_at_all_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tg_core.tensor import readers

    state = vector(0, 0)
    jit = TinyJit(lambda x: state.assign(state + x) + 0)
    one = vector(1, 1)
    for _ in range(4):
        jit(one)
    looks = []
    whole = readers.live_tensors

    def counted() -> list[Tensor]:
        looks.append(1)
        return whole()

    monkeypatch.setattr(readers, "live_tensors", counted)
    for _ in range(3):
        (one + 1).realize()
        jit(one)
    assert not looks
    assert state.tolist() == [7.0, 7.0]


def test_changes_of_several_threads_are_told_apart() -> None:
    seen: list[list[int]] = [[], [], []]

    def change(mine: list[int]) -> None:
        for _ in range(500):
            with live_lock:
                note_change()
                mine.append(changes())

    threads = [threading.Thread(target=change, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number for mine in seen for number in mine}) == 1500


def test_plain_calls_keep_no_list_of_what_they_wrote() -> None:
    state = vector(0, 0, 0)

    def step(x: Tensor) -> Tensor:
        own = Tensor.zeros(3).contiguous().realize()
        own[0] = 1
        state.assign(state + own)
        return own + x

    jit = TinyJit(step)
    with Context(JIT=0):
        for _ in range(5):
            jit(vector(1, 2, 3))
    assert not jit._written
    jit(vector(1, 2, 3))
    assert len(jit._written) == 1
    assert state.tolist() == [6.0, 0.0, 0.0]


def test_a_lazy_value_from_outside_is_not_computed_from_what_came_later() -> None:
    source = vector(1, 2, 3)
    lazy = source * 3
    jit = TinyJit(lambda x: lazy + x)
    one = vector(1, 1, 1)
    for number in range(6):
        if number == 3:
            source.assign(source * 100)
        assert jit(one).tolist() == [4.0, 7.0, 10.0]
    lazy.replace(source + 0)
    assert jit(one).tolist() == [101.0, 201.0, 301.0]


def test_a_lazy_value_from_outside_that_was_realized_meanwhile() -> None:
    source = vector(1, 2, 3)
    lazy = source * 3
    jit = TinyJit(lambda x: lazy + x)
    one = vector(1, 1, 1)
    for number in range(6):
        if number == 3:
            lazy.realize()
            source.assign(source * 100).realize()
        assert jit(one).tolist() == [4.0, 7.0, 10.0]


def test_a_lazy_value_stays_lazy_in_captures() -> None:
    packed = Tensor(np.arange(4, dtype=np.int8)).realize()
    weight = packed.float() * 0.5
    calls = []

    def step(x: Tensor) -> Tensor:
        calls.append(1)
        return weight + x

    jit = TinyJit(step)
    for _ in range(4):
        assert jit(vector(1, 1, 1, 1)).tolist() == [1.0, 1.5, 2.0, 2.5]
    assert len(calls) == 2
    assert "buffer" not in repr(weight)


def test_a_lazy_value_of_what_the_call_binds_anew() -> None:
    state, other = vector(1, 2, 3), vector(0, 0, 0)
    other.replace(other - state)
    old = other.tolist()
    other.replace(vector(0, 0, 0) - state)

    def step(x: Tensor) -> Tensor:
        state.replace(other + x)
        return state * 2

    jit = TinyJit(step)
    for number in range(6):
        assert jit(vector(number, 0, 0)).tolist() == [
            2 * (old[0] + number),
            2 * old[1],
            2 * old[2],
        ]
