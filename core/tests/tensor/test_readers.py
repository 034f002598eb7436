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
