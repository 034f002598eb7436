"""Interrupts that wait, and interrupts at every instruction of what writes in place."""

from __future__ import annotations

import dis
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tg_core import Context, Tensor, TinyJit
from tg_core.engine.interrupts import InterruptsDelayed
from tg_core.tensor import interrupted, realize


def test_the_first_interrupt_waits_for_the_end() -> None:
    done = []

    def work() -> None:
        with InterruptsDelayed():
            signal.raise_signal(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupt_does_not_wait() -> None:
    done = []

    def work() -> None:
        with InterruptsDelayed():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_changed_without_an_interrupt_or_in_other_threads() -> None:
    def work() -> None:
        with InterruptsDelayed():
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[Any] = []
    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen[0] is not signal.default_int_handler
    assert seen[1] is signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


CHECKING = ("RESUME", "CALL", "JUMP_BACKWARD", "CALL_FUNCTION_EX", "CALL_KW")
"""Instructions after which the interpreter looks for signals."""


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th place where the interpreter looks for signals while a
    function runs.
    """

    def __init__(self, where: Any, name: str, number: int) -> None:
        self.where, self.name, self.left = where, name, number
        self.last: dict[Any, str] = {}
        self.original = getattr(where, name)

    def __enter__(self) -> None:
        def traced(*args: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(self._call)
            try:
                return self.original(*args)
            finally:
                sys.settrace(before)

        setattr(self.where, self.name, traced)

    def __exit__(self, *exc: object) -> None:
        setattr(self.where, self.name, self.original)
        self.last.clear()

    def _call(self, frame: Any, event: str, arg: Any) -> Any:
        if "tg_core" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "opcode":
            before = self.last.get(frame)
            self.last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if before in CHECKING:
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt
        return self._step


EVERY = int(os.environ.get("INTERRUPT_EVERY", "5"))
"""Every how many places a test interrupts; 1 is exhaustive."""


def interrupts(where: Any, name: str, case: Callable[[InterruptAt], None]) -> int:
    """Run a case with an interrupt at some places in turn, until one comes too late."""
    for number in range(1, 20_000, EVERY):
        at = InterruptAt(where, name, number)
        case(at)
        if at.left > 0:
            return number
    raise AssertionError("the case does not end")


@pytest.mark.parametrize("settings", [{}, {"JIT": 2}])
def test_a_write_in_place_happens_once_whatever_instruction_is_interrupted(
    settings: dict[str, int],
) -> None:
    start = np.arange(4, dtype=np.float32)

    def case(at: InterruptAt) -> None:
        x, y = Tensor(start).realize(), Tensor(start * 2).realize()
        before = x + 0.0
        # several kernels: a sum of what was written, and two writes in place
        total = (x.assign(x + 1) * y).sum()
        y.assign(y + x.sum())
        try:
            with at:
                Tensor.realize(x, y, total)
        except KeyboardInterrupt:
            pass
        new, other = start + 1, start * 2 + (start + 1).sum()
        assert y.tolist() == other.tolist(), at.left
        assert x.tolist() == new.tolist()
        assert total.item() == (new * start * 2).sum()
        assert before.tolist() == start.tolist()
        assert interrupted._works == []

    with Context(**settings):
        for _ in range(3):
            case(InterruptAt(realize, "carry_out", 1 << 30))
        assert interrupts(realize, "carry_out", case) > 100


def test_what_nobody_has_any_more_is_not_finished() -> None:
    other = Tensor([5.0]).realize()
    for number in range(1, 400):
        x = Tensor([1.0, 2.0]).realize()
        x.assign(x + 1)
        try:
            with InterruptAt(realize, "carry_out", number):
                x.realize()
        except KeyboardInterrupt:
            pass
        if interrupted._works:
            break
    assert len(interrupted._works) == 1
    other.assign(other + 1)
    assert other.tolist() == [6.0]
    assert len(interrupted._works) == 1, "unrelated work does not finish it"
    del x
    assert (other + 1).tolist() == [7.0]
    assert interrupted._works == []


def test_memory_that_runs_out_between_writes_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tg_core.device import Buffer
    from tg_core.errors import OutOfMemory

    x = Tensor([1.0, 2.0, 3.0]).realize()
    x.assign(x + 1)
    y = (x.contiguous() * 2).contiguous()
    original = Buffer.allocate

    def allocate(self: Buffer) -> Buffer:
        if full and self.size == 3:
            raise OutOfMemory("full")
        return original(self)

    full = True
    monkeypatch.setattr(Buffer, "allocate", allocate)
    with pytest.raises(OutOfMemory):
        Tensor.realize(x, y)
    full = False
    assert y.tolist() == [4.0, 6.0, 8.0]
    assert x.tolist() == [2.0, 3.0, 4.0]


def test_a_replay_interrupted_anywhere_is_whole_or_did_not_happen() -> None:
    from tg_core.engine.replay import Replay

    state = Tensor([0.0, 0.0]).contiguous().realize()
    count = Tensor([0.0]).contiguous().realize()

    def step(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        # a copy to a device that takes none of the native calls, so that there are several steps
        there = (x + 1).to("PYTHON").contiguous().to("CPU")
        count.assign(count + 1).realize()
        return (there + state).contiguous()

    jit = TinyJit(step)
    x = Tensor([1.0, 2.0]).realize()
    for _ in range(3):
        jit(x)
    calls = 3

    def case(at: InterruptAt) -> None:
        nonlocal calls
        try:
            with at:
                jit(x)
        except KeyboardInterrupt:
            pass
        now = count.item()
        assert now in (calls, calls + 1)
        calls = int(now)
        assert state.tolist() == [calls, 2 * calls]

    assert interrupts(Replay, "run", case) > 100
    assert jit(x).tolist() == [2.0 + calls + 1, 3.0 + 2 * (calls + 1)]
