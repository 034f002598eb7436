"""Linked batches: what they compute, and what they hold."""

from __future__ import annotations

import gc
import weakref

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

from tg_core.device import Buffer, GlobalCounters
from tg_core.dtype import dtypes
from tg_core.hcq import LinkedBatch, batch, link_batch
from tg_core.uop.ops import Ops, UOp

ADD = add_kernel(1.0)


def linked(*calls: UOp, fixed: dict[int, Buffer] | None = None) -> LinkedBatch:
    (joined,) = batch(linear(*calls)).src
    return link_batch(joined, fixed or {})


def test_everything_may_come_with_the_run() -> None:
    run = linked(call(ADD, storage(1), storage(0)), call(ADD, storage(2), storage(1)))
    for start in (0, 10):
        buffers = [filled(start), empty(), empty()]
        assert run.run(buffers, [])
        assert buffers[2].numpy().tolist() == ramp(start + 2).tolist()
    assert len(run.inputs) == 3


def test_fixed_storage_is_no_input_and_is_kept() -> None:
    given, result = filled(3), empty()
    temporary = empty()
    gone = weakref.ref(temporary)
    run = linked(
        *(call(ADD, storage(1), storage(0)), call(ADD, storage(2), storage(1))),
        fixed={1: temporary},
    )
    del temporary
    gc.collect()
    assert gone() is not None
    assert run.run([given, 0, result], [])
    assert result.numpy().tolist() == ramp(5).tolist()
    assert [item.slot for item in run.inputs] == [0, 2]  # type: ignore[union-attr]
    del run
    gc.collect()
    assert gone() is None


def test_a_batch_of_fixed_storage_has_no_inputs() -> None:
    source, result = filled(0), empty()
    run = linked(call(ADD, storage(1), storage(0)), fixed={0: source, 1: result})
    assert run.inputs == ()
    for start in (0, 20):
        source.copyin(ramp(start).tobytes())
        assert run.run([], [])
        assert result.numpy().tolist() == ramp(start + 1).tolist()


def test_views_are_offsets_into_their_storage() -> None:
    whole = storage(0, 2 * SIZE)
    low, high = (whole._movement(Ops.SHRINK, ((i * SIZE, (i + 1) * SIZE),)) for i in (0, 1))
    for fixed in (False, True):
        buffer = filled(0, 2 * SIZE)
        run = linked(call(ADD, low, high), fixed={0: buffer} if fixed else {})
        assert run.run([buffer], [])
        assert buffer.numpy()[:SIZE].tolist() == ramp(SIZE + 1).tolist()


def test_values_of_variables_are_inputs() -> None:
    variable = UOp.variable("n", 0, 1000, slot=2)
    run = linked(call(scale_kernel(), storage(1), storage(0), variable))
    for value in (0, 3, 1000):
        result = empty()
        assert run.run([filled(1), result, value], [])
        assert result.numpy().tolist() == (ramp(1) * value).tolist()


def test_chunks_run_on_the_devices_threads() -> None:
    result = empty()
    run = linked(call(add_kernel(2.0, SIZE, True), storage(1), storage(0)))
    assert run.run([filled(0), result], [])
    assert result.numpy().tolist() == ramp(2).tolist()


@pytest.mark.parametrize("size", [1, 2, 17, SIZE])
def test_symbolic_launch_sizes_are_inputs(size: int) -> None:
    variable = UOp.variable("n", 1, SIZE, slot=2)
    run = linked(call(add_kernel(1.0, variable, True), storage(1), storage(0), variable))
    result = filled(-1000)
    assert run.run([filled(0), result, size], [])
    expected = np.concatenate([ramp(1)[:size], ramp(-1000)[size:]])
    assert result.numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("device", ["CPU", "CPU:1", "PYTHON"])
@pytest.mark.parametrize("fixed", [False, True])
def test_copies_are_calls_of_the_batch(device: str, fixed: bool) -> None:
    source = Buffer(device, 2 * SIZE, dtypes.float32).copyin(ramp(5, 2 * SIZE).tobytes())
    high = storage(0, 2 * SIZE, device=device)._movement(Ops.SHRINK, ((SIZE, 2 * SIZE),))
    run = linked(
        *(copy(storage(1), high), call(ADD, storage(2), storage(1)), copy(storage(3), storage(2))),
        fixed={0: source} if fixed else None,
    )
    result, before = empty(), GlobalCounters.kernel_count
    marks: list[None] = []
    assert run.run([source, empty(), empty(), result], marks)
    assert result.numpy().tolist() == ramp(5 + SIZE + 1).tolist()
    assert (marks, run.counts[1], GlobalCounters.kernel_count - before) == ([None], 3, 1)


def test_runs_are_counted() -> None:
    run = linked(call(ADD, storage(1), storage(0)), call(ADD, storage(0), storage(1)))
    before = (GlobalCounters.kernel_count, GlobalCounters.flops, GlobalCounters.memory_bytes)
    run.run([filled(0), empty()], [])
    assert GlobalCounters.kernel_count - before[0] == 2
    assert GlobalCounters.flops - before[1] == 2 * SIZE
    assert GlobalCounters.memory_bytes - before[2] == 2 * 2 * 4 * SIZE


def test_the_host_program_does_not_grow_with_the_batch() -> None:
    short = linked(*[call(ADD, storage(1), storage(0))] * 2)
    long = linked(*[call(ADD, storage(1), storage(0))] * 200)
    assert short._program is long._program
