"""Steps of a linked schedule, each on storage given at the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hcq_utils import (
    SIZE,
    add_kernel,
    call,
    copy,
    empty,
    filled,
    linear,
    ramp,
    scale_kernel,
    storage,
)

from tg_core import Context
from tg_core.device import GlobalCounters
from tg_core.engine.run import Run
from tg_core.engine.steps import BatchStep, CopyStep, KernelStep, Step, step_of
from tg_core.hcq import batch
from tg_core.uop.ops import Ops, UOp

ADD = add_kernel(1.0)


def make(step: Step, arguments: list[Any]) -> None:
    run = Run([step], arguments)
    run.finish()
    assert len(run.marks) == len(run.work)


def test_a_kernel_takes_storage_and_variables_by_slot() -> None:
    variable = UOp.variable("n", 0, 1000, slot=3)
    step = step_of(call(scale_kernel(), storage(2), storage(0), variable), {})
    assert isinstance(step, KernelStep)
    result = empty()
    make(step, [filled(1), 0, result, 5])
    assert result.numpy().tolist() == (ramp(1) * 5).tolist()


@pytest.mark.parametrize("size", [1, 9, SIZE])
def test_symbolic_launch_sizes_follow_the_variable(size: int) -> None:
    variable = UOp.variable("n", 1, SIZE, slot=2)
    step = step_of(call(add_kernel(1.0, variable, True), storage(1), storage(0), variable), {})
    result = filled(-1000)
    make(step, [filled(0), result, size])
    expected = np.concatenate([ramp(1)[:size], ramp(-1000)[size:]])
    assert result.numpy().tolist() == expected.tolist()


def test_copies_move_parts() -> None:
    half = storage(0)._movement(Ops.SHRINK, ((8, 16),))
    step = step_of(copy(storage(1, 8), half), {})
    assert isinstance(step, CopyStep)
    result = empty(8)
    make(step, [filled(3), result])
    assert result.numpy().tolist() == ramp(11, 8).tolist()


def batch_step() -> BatchStep:
    (joined,) = batch(
        linear(call(ADD, storage(5), storage(2)), call(ADD, storage(7), storage(5)))
    ).src
    step = step_of(joined, {})
    assert isinstance(step, BatchStep)
    return step


def test_a_batch_that_is_in_use_runs_call_by_call() -> None:
    step = batch_step()
    arguments: list[Any] = [0, 0, filled(1), 0, 0, empty(), 0, empty()]
    before = GlobalCounters.kernel_count
    with step.linked._lock:
        make(step, arguments)
    assert arguments[7].numpy().tolist() == ramp(3).tolist()
    assert GlobalCounters.kernel_count - before == 2


def test_seen_launches_are_reported_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    step = batch_step()
    arguments: list[Any] = [0, 0, filled(1), 0, 0, empty(), 0, empty()]
    with Context(DEBUG=2):
        make(step, arguments)
    assert capsys.readouterr().out.count("add") == 2
    assert arguments[7].numpy().tolist() == ramp(3).tolist()
