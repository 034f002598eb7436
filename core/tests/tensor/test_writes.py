"""What a call wrote, and which storage may have pending writes."""

from __future__ import annotations

import numpy as np

from tg_core import Tensor
from tg_core.device import buffer_of
from tg_core.tensor.outside import keep_readers, settle_writes
from tg_core.tensor.readers import lazy_readers, storage_of
from tg_core.tensor.writes import CallWrites, bases_of, noted_storage, storage_under


def ramp(size: int) -> Tensor:
    return Tensor(np.arange(size, dtype=np.float32)).realize()


def memory_of(tensor: Tensor) -> int:
    (base,) = bases_of(tensor.uop)
    buffer = buffer_of(storage_under(base))
    assert buffer is not None
    return id(buffer.root)


def test_a_call_knows_what_it_left_pending() -> None:
    state, other, untouched = ramp(4), ramp(4), ramp(4)
    alias = state[1:3]
    with CallWrites() as outer:
        with CallWrites() as inner:
            state[2] = 5
            made = untouched + 1
            made.assign(made * 2)
        other.replace(state + 1)
        untouched.assign(untouched + 1).realize()
    assert [id(t) for t in inner.pending()] == [id(state), id(alias)]
    assert [id(t) for t in outer.pending()] == [id(state), id(other), id(alias)]
    state.realize()
    assert inner.pending() == []
    assert [id(t) for t in outer.pending()] == [id(other)]
    assert other.tolist() == [1.0, 2.0, 6.0, 4.0]


def test_pending_writes_are_settled() -> None:
    state, other = ramp(3), ramp(3)
    state.assign(state + 1)
    reader = state * 2
    state.assign(state + 1)
    other.assign(other + 1)
    memory = memory_of(state)
    assert {memory, memory_of(other)} <= noted_storage
    settle_writes({memory})
    assert state.uop.op.name == "BUFFER"
    assert other.uop.op.name == "AFTER"
    assert memory not in noted_storage
    assert memory_of(other) in noted_storage
    assert (state.tolist(), reader.tolist()) == ([2.0, 3.0, 4.0], [2.0, 4.0, 6.0])


def test_readers_keep_what_they_read() -> None:
    state, other = ramp(3), ramp(3)
    first, second, far = state + 1, (state * other).sum(), other + 1
    memory = {memory_of(state)}
    found = lazy_readers(memory)
    assert [id(t) for t in found] == [id(first), id(second)]
    later = state.flip(0) + 0
    far.replace(state * 5)
    assert {id(t) for t in lazy_readers(memory)} == {id(t) for t in (first, second, later, far)}
    keep_readers(memory)
    assert lazy_readers(memory) == []
    buffer = buffer_of(state.uop)
    assert buffer is not None
    buffer.copyin(np.full(3, 9, np.float32).data)
    assert first.tolist() == [1.0, 2.0, 3.0]
    assert second.item() == 5
    assert later.tolist() == [2.0, 1.0, 0.0]
    assert far.tolist() == [0.0, 5.0, 10.0]
    assert storage_of(state.uop) == (state.uop,)
