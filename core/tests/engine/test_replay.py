"""Replays of captures: batches across schedules, modes, threads, interruptions."""

from __future__ import annotations

import gc
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest

from tg_core import Context, GlobalCounters, Tensor, TinyJit, Variable
from tg_core.engine.steps import BatchStep
from tg_core.errors import JitError


def ramp(start: float, size: int = 8) -> Tensor:
    return Tensor(np.arange(start, start + size, dtype=np.float32)).realize()


def steps_of(jit: TinyJit[Any, Any]) -> list[Any]:
    assert jit.captured is not None
    linked = jit.captured.replay._linked
    assert linked is not None
    return linked.steps


def three_schedules(x: Tensor) -> Tensor:
    first = (x + 1).contiguous().realize()
    second = ((first * 2).contiguous() + first.sum()).realize()
    return (second - x).contiguous()


def expected(start: float) -> list[float]:
    x = np.arange(start, start + 8, dtype=np.float32)
    return (((x + 1) * 2 + (x + 1).sum()) - x).tolist()


def test_kernels_of_several_schedules_are_one_native_call() -> None:
    jit = TinyJit(three_schedules)
    for start in range(5):
        assert jit(ramp(start)).tolist() == expected(start)
    (step,) = steps_of(jit)
    assert isinstance(step, BatchStep)
    assert step.linked.counts[1] >= 3


@pytest.mark.parametrize("settings", [{"JIT": 2}, {"DEBUG": 2}, {"PROFILE": 1}])
def test_one_by_one_gives_the_same(settings: dict[str, int], capsys: Any) -> None:
    jit = TinyJit(three_schedules)
    for start in range(3):
        jit(ramp(start))
    before = GlobalCounters.kernel_count
    joined = jit(ramp(7)).tolist()
    kernels = GlobalCounters.kernel_count - before
    x = ramp(7)
    before = GlobalCounters.kernel_count
    capsys.readouterr()
    with Context(**settings):
        result = jit(x)
    assert result.tolist() == joined == expected(7)
    assert GlobalCounters.kernel_count - before == kernels
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("***") for line in lines) == (kernels if "DEBUG" in settings else 0)


def test_temporaries_of_all_schedules_share_one_allocation() -> None:
    def many(x: Tensor) -> Tensor:
        for _ in range(6):
            x = ((x.contiguous() + 1).contiguous().sum() + x).realize()
        return x

    jit = TinyJit(many)
    for _ in range(3):
        jit(ramp(0, 4096))
    assert jit.captured is not None
    linked = jit.captured.replay._linked
    assert linked is not None
    roots = {id(a.root) for a in linked.arguments if not isinstance(a, int)}
    views = {id(a) for a in linked.arguments if not isinstance(a, int) and a.base is not None}
    assert len(roots) <= len(views)


def test_copies_to_other_memory_split_batches() -> None:
    def there_and_back(x: Tensor) -> Tensor:
        return ((x + 1).to("PYTHON").contiguous() * 2).to("CPU").contiguous() + 3

    jit = TinyJit(there_and_back)
    for start in range(4):
        result = jit(Tensor([float(start), 5.0], device="CPU").realize())
        assert result.tolist() == [(start + 1) * 2 + 3, 15]
    kinds = [type(step).__name__ for step in steps_of(jit)]
    assert kinds[0] == kinds[-1] == "BatchStep"
    assert "CopyStep" in kinds


def test_threads_share_a_capture() -> None:
    jit = TinyJit(three_schedules)
    for start in range(3):
        jit(ramp(start))
    wrong: list[float] = []

    def work(base: int) -> None:
        for start in range(base, base + 40):
            if jit(ramp(start)).tolist() != expected(start):
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_other_threads_run_is_not_captured() -> None:
    other = ramp(5)
    results: list[list[float]] = []

    def elsewhere() -> None:
        results.append((other * 3).tolist())

    def function(x: Tensor) -> Tensor:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return (x + 1).contiguous()

    jit = TinyJit(function)
    for _ in range(3):
        jit(ramp(0))
    assert len(results) == 2
    assert jit.captured is not None
    assert jit.captured.replay.kernels == 1


def test_a_replay_cannot_be_entered_from_within() -> None:
    jit = TinyJit(three_schedules)
    for start in range(3):
        jit(ramp(start))
    assert jit.captured is not None
    replay = jit.captured.replay
    replay._running = True
    with pytest.raises(JitError, match="from within a replay"):
        jit(ramp(0))
    replay._running = False
    assert jit(ramp(1)).tolist() == expected(1)


# Python drops an interrupt that arrives while a finalizer runs
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_the_capture_usable() -> None:
    jit = TinyJit(three_schedules)
    for start in range(3):
        jit(ramp(start))

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for attempt in range(30):
            signal.setitimer(signal.ITIMER_REAL, 2e-5 * (attempt + 1))
            try:
                for start in range(2000):
                    jit(ramp(0)) if start < 3 else sum(range(50))
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert jit(ramp(attempt)).tolist() == expected(attempt)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0


POSITION = Variable("position", 1, 8)

REPLAYED: dict[str, tuple[Any, Any]] = {
    "one batch": (three_schedules, lambda x, i: x),
    "a slice": (lambda t: t + 1, lambda x, i: x[2:4]),
    "a symbolic view": (lambda t: t.sum(), lambda x, i: x[: POSITION.bind(i % 8 + 1)]),
    "nested": (lambda d: {"y": [d["x"][0] * 2, d["x"][1] + 1]}, lambda x, i: {"x": [x, x]}),
    "several steps": (lambda t: (t + 1).to("PYTHON").contiguous().to("CPU") * 2, lambda x, i: x),
    "random numbers": (lambda t: t + Tensor.rand(8), lambda x, i: x),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_replays_keep_neither_objects_nor_memory(name: str) -> None:
    function, argument = REPLAYED[name]
    # views take their time by themselves, and so does the interpreter of kernels
    count = {"several steps": 200, "a slice": 4000, "a symbolic view": 2000}.get(name, 10_000)
    jit = TinyJit(function)
    x = ramp(0)
    jit(argument(x, 0))
    gc.collect()
    gc.disable()
    try:
        # the interpreter keeps up to some thousand freed objects of a kind for itself
        for i in range(min(count, 2500)):
            jit(argument(x, i))
        before = len(gc.get_objects()), sys.getallocatedblocks(), GlobalCounters.mem_used
        for i in range(count):
            jit(argument(x, i))
        after = len(gc.get_objects()), sys.getallocatedblocks(), GlobalCounters.mem_used
    finally:
        gc.enable()
    assert after[0] - before[0] < 50, "objects"
    assert after[1] - before[1] < 500, "blocks of memory of the interpreter"
    assert after[2] == before[2], "memory of the device"


def test_memory_goes_with_the_capture() -> None:
    x = ramp(0)
    gc.collect()
    before = GlobalCounters.mem_used
    jit = TinyJit(three_schedules)
    for _ in range(4):
        jit(x)
    del jit
    gc.collect()
    assert GlobalCounters.mem_used == before
