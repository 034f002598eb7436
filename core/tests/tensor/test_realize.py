"""Realizing in threads, through interruptions, and with storage that is there already."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from trap_utils import buf

from tg_core import Tensor, function
from tg_core.codegen import clear_compiled
from tg_core.config import Context
from tg_core.device import GlobalCounters
from tg_core.dtype import dtypes
from tg_core.engine import steps
from tg_core.errors import DTypeError, OutOfMemory
from tg_core.uop.ops import UOp


@pytest.fixture
def eager_switching() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run work in threads at once; raises what the first one raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def body(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.usefixtures("eager_switching")
def test_threads_compute_different_tensors() -> None:
    def work(number: int) -> None:
        for i in range(6):
            a = np.arange(5 + number % 3, dtype=np.float32) + i
            value = ((Tensor(a) * (number + 1)).contiguous() + i).sum()
            assert value.item() == float((a * (number + 1) + i).sum())

    in_threads(5, work)


@pytest.mark.usefixtures("eager_switching")
def test_threads_write_their_own_tensors() -> None:
    def work(number: int) -> None:
        x = buf([0.0] * 8)
        for _ in range(25):
            x.assign(x + number + 1).realize()
        assert x.tolist() == [25.0 * (number + 1)] * 8

    in_threads(5, work)


@pytest.mark.usefixtures("eager_switching")
def test_threads_read_one_pending_tensor() -> None:
    shared = (buf([1.0, 2.0]) + 1).clone()

    def work(number: int) -> None:
        assert (shared * number).tolist() == [2.0 * number, 3.0 * number]

    in_threads(4, work)
    assert shared.tolist() == [2, 3]


POINTS = [
    ("schedule", "tg_core.schedule.make_schedule", "order_kernels"),
    ("lowering", "tg_core.codegen.pipeline", "run_pipeline"),
    ("compilation", "tg_core.codegen.compile", "_finish"),
    ("loading", "tg_core.engine.steps", "load_program"),
]


@pytest.mark.parametrize(("module", "name"), [p[1:] for p in POINTS], ids=[p[0] for p in POINTS])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_everything_usable(
    module: str, name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["tg_core.schedule.schedule"], "_cache", {})
    monkeypatch.setattr(sys.modules["tg_core.engine.realize"], "_linked", {})
    clear_compiled()
    x, w = buf([1.0, 2.0, 3.0]), buf([1.0, 1.0, 1.0])
    w.assign(w * 5)
    y = (x + w).contiguous().sum() + 1

    def stop(*args: object, **kwargs: object) -> None:
        raise error

    with monkeypatch.context() as patch, Context(CACHE=0):
        patch.setattr(sys.modules[module], name, stop)
        with pytest.raises(error):
            y.realize()
    assert y.item() == 22
    assert w.tolist() == [5, 5, 5]
    assert x.tolist() == [1, 2, 3]


def test_an_interruption_between_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    x = buf([1.0, 2.0, 3.0])
    y = (x + 1).contiguous().sum()
    original, runs = steps.KernelStep.run, 0

    def stop(self: steps.KernelStep, arguments: Any, marks: list[None]) -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise KeyboardInterrupt
        original(self, arguments, marks)

    with monkeypatch.context() as patch:
        patch.setattr(steps.KernelStep, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            y.realize()
    assert y.item() == 9
    assert (x + 1).tolist() == [2, 3, 4]


def test_no_memory_leaves_other_tensors_alone() -> None:
    x = buf([1.0, 2.0])
    x.assign(x + 1)
    huge = Tensor.full((1 << 50,), 1.0).contiguous()
    with pytest.raises(OutOfMemory):
        huge.realize(x)
    del huge
    assert x.tolist() == [2, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes() -> None:
    x = buf(np.arange(64.0).tolist())
    assert (x * 2).sum().item() == 64 * 63
    child = os.fork()
    if child == 0:
        code = 1
        try:
            y = ((x + 1).contiguous() * 2).sum()
            code = 0 if y.item() == 64 * 63 + 128 else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < deadline:
        time.sleep(0.01)
        done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert done, "the child hangs"
    assert status == 0


def test_what_is_realized_or_virtual_runs_nothing() -> None:
    x = buf([1.0, 2.0])
    before = GlobalCounters.kernel_count
    x.realize(x[1:], x.reshape(2, 1).permute(1, 0), Tensor(3.0))
    assert GlobalCounters.kernel_count == before


def test_weak_values_are_refused() -> None:
    with pytest.raises(DTypeError, match="weakint has no width, cast it to a concrete dtype first"):
        Tensor._from_uop(
            buf([1.0]).uop.cast(dtypes.bool).where(UOp.const(1), UOp.const(2))
        ).realize()


def test_intermediates_are_not_kept() -> None:
    x = buf([1.0, 2.0])
    middle = x + 1
    (middle * 2).realize()
    node = middle.uop
    middle.realize()
    assert middle.uop is not node


def test_a_call_runs_once_for_all_its_results() -> None:
    both = function(lambda x: (x + 1, x * 2), precompile=True)
    first, second = both(buf([1.0, 2.0]))
    before = GlobalCounters.kernel_count
    first.realize()
    assert second.tolist() == [2, 4]
    assert GlobalCounters.kernel_count - before == 2


def test_a_deferred_call_writes_once_and_earlier_readers_keep_their_values() -> None:
    x, y = buf([1.0, 2.0]), buf([3.0, 4.0])
    earlier = y * 2
    x.assign(x + 1)
    y.assign(y.flip(0))
    x.callify(y)
    x.realize()
    assert earlier.tolist() == [6, 8]
    assert y.tolist() == [4, 3]
    assert x.tolist() == [2, 3]
