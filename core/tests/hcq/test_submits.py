"""What queues are given, and in which order it must happen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import MACHINE, toys

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq import batch, link_queues, link_submits, schedule_submits, submits
from tg_core.hcq.enqueue import QueueName
from tg_core.hcq.submits import Submits, address, slots_of, timeline_of, timeline_value
from tg_core.uop.ops import KernelInfo, Ops, PatternMatcher, UOp, UPat

SIZE = 16
A, A1, B = "TOYA", "TOYA:1", "TOYB"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def storage(slot: int, device: str) -> UOp:
    return UOp.param(slot, dtypes.float32, (SIZE,), device)


def kernel(device: str, target: int, source: int, factor: float = 2.0) -> UOp:
    """Return the call of `target = target * factor + source`."""
    out, given = (UOp.param(slot, dtypes.float32, (SIZE,), device) for slot in (0, 1))
    i = UOp.range(SIZE, 0)
    value = out.index(i).load() * UOp.const(factor, dtypes.float32) + given.index(i).load()
    sink = UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("step", ()))
    program = compile_program(sink, Device[device].renderer)
    return UOp.call(program, storage(target, device), storage(source, device))


def copy(target: tuple[int, str], source: tuple[int, str]) -> UOp:
    ends = (storage(*target), storage(*source))
    return UOp.call(UOp(Ops.COPY, (ends[1],), target[1]), *ends)


def batch_of(*calls: UOp) -> UOp:
    (joined,) = batch(UOp(Ops.LINEAR, calls)).src
    return joined


def names(result: Submits, queue: QueueName) -> list[str]:
    linear = result.linears[result.queues.index(queue)]
    found = []
    for op in linear.src:
        if op.op is Ops.CALL:
            found.append("copy" if op.src[0].op is Ops.COPY else "kernel")
            continue
        text = str(op.arg)
        if op.arg in ("wait", "store"):
            base, (_, offset) = op.src[0].src[0], op.src[0].arg
            value = op.src[1].const_value
            text += (
                f" {base.tag[0]} of {base.arg.device} {offset} {'+' if value is None else value}"
            )
        found.append(text)
    return found


def test_one_queue_keeps_its_order_by_itself() -> None:
    result = schedule_submits(batch_of(kernel(A, 0, 1), kernel(A, 1, 0)))
    queue = QueueName(A, "COMPUTE", 0)
    assert (result.devices, result.queues) == ((A,), (queue,))
    assert names(result, queue) == [
        "barrier",
        "wait timeline of TOYA 0 +",
        "kernel",
        "kernel",
        "store timeline of TOYA 0 +",
    ]
    assert (result.slots, result.signals) == ({A: 2}, {queue: 1})


def test_another_queue_waits_for_the_last_call_it_depends_on() -> None:
    calls = (kernel(A, 0, 1), kernel(A, 0, 2), copy((3, A1), (0, A)), kernel(A1, 3, 4))
    result = schedule_submits(batch_of(*calls))
    compute, copying, peer = (
        QueueName(A, "COMPUTE", 0),
        QueueName(A, "COPY", 0),
        QueueName(A1, "COMPUTE", 0),
    )
    assert result.queues == (compute, copying, peer)
    assert names(result, compute)[2:] == [
        "kernel",
        "kernel",
        "store slots of TOYA 16 2",
        # the closing queue of the device waits for its other queue
        "wait slots of TOYA 32 3",
        "store timeline of TOYA 0 +",
    ]
    assert names(result, copying) == [
        "barrier",
        # memory of both devices is used
        "wait timeline of TOYA 0 +",
        "wait timeline of TOYA:1 0 +",
        "wait slots of TOYA 16 2",
        "copy",
        "store slots of TOYA 32 3",
    ]
    assert names(result, peer)[2:] == [
        "wait slots of TOYA 32 3",
        "kernel",
        "wait slots of TOYA 32 3",
        "store timeline of TOYA:1 0 +",
    ]


def test_a_device_that_only_lends_memory_takes_part() -> None:
    result = schedule_submits(batch_of(copy((0, A1), (1, A))))
    queue = QueueName(A1, "COMPUTE", 0)
    assert result.devices == (A, A1)
    assert names(result, queue)[-2:] == [
        "wait slots of TOYA 16 1",
        "store timeline of TOYA:1 0 +",
    ]


def test_independent_copies_take_several_queues() -> None:
    calls = [copy((2 * i, B), (2 * i + 1, B)) for i in range(3)]
    result = schedule_submits(batch_of(*calls, copy((6, B), (2, B))))
    assert result.queues == tuple(QueueName(B, "COPY", i) for i in range(3))
    # what depends on a copy follows it in its queue, without a wait
    assert names(result, result.queues[1])[2:4] == ["copy", "copy"]
    # the first queue closes
    assert names(result, result.queues[0])[-3:] == [
        "wait slots of TOYB 32 4",
        "wait slots of TOYB 48 3",
        "store timeline of TOYB 0 +",
    ]


def test_parameters_of_one_memory_depend_on_each_other() -> None:
    call = batch_of(copy((0, A), (1, A)), kernel(A, 2, 3))
    queue = QueueName(A, "COMPUTE", 0)
    apart = names(schedule_submits(call), queue)
    together = names(schedule_submits(call, aliases=((0, 0, 0), (3, 0, 0))), queue)
    beside = names(schedule_submits(call, aliases=((0, 0, 0), (3, 0, 4 * SIZE))), queue)
    assert "wait slots of TOYA 16 1" in together[:-2]
    assert apart == beside
    assert "wait slots of TOYA 16 1" not in apart[:-2]


def test_times_have_slots_of_their_own() -> None:
    call = batch_of(kernel(A, 0, 1), copy((2, A), (3, A)))
    result = schedule_submits(call, timed=True)
    assert result.slots == {A: 7}
    assert [(t.call, t.start, t.end) for t in result.timed] == [(0, 3, 4), (1, 5, 6)]
    assert names(result, QueueName(A, "COPY", 0))[2:5] == ["timestamp", "copy", "timestamp"]


def test_addresses_name_who_looks() -> None:
    node = address(timeline_of(A), B, 8)
    assert (node.op, node.arg, node.dtype) == (Ops.GETADDR, (B, 8), dtypes.uint64)
    assert timeline_value(A) is timeline_value(A)
    assert slots_of(A) is not slots_of(B)


def test_rules_of_the_devices_change_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop_barriers(ctx: object, sink: UOp) -> UOp:
        assert ctx is Device[A]
        return sink.replace(
            src=tuple(
                q.replace(src=tuple(o for o in q.src if o.arg != "barrier")) for q in sink.src
            )
        )

    rules = PatternMatcher([(UPat(Ops.SINK, name="sink"), drop_barriers)])
    monkeypatch.setitem(Device[A].hook_results, "pm_batch", rules)
    result = schedule_submits(batch_of(kernel(A, 0, 1)))
    assert "barrier" not in names(result, result.queues[0])


CHAIN = [(0, 1), (1, 2), (0, 2), (2, 0), (1, 0), (0, 1)]
"""Targets and sources of kernels that mostly depend on each other."""


def run_chain(seed: int) -> list[np.ndarray]:
    MACHINE.reseed(seed)
    call = batch_of(*[kernel(B, target, source) for target, source in CHAIN])
    start = [np.arange(SIZE, dtype=np.float32) + i for i in range(3)]
    buffers = [Buffer(B, SIZE, dtypes.float32).copyin(row.tobytes()) for row in start]
    link_submits(call, {}).run(buffers)
    return [buffer.numpy() for buffer in buffers]


def expected_chain() -> list[np.ndarray]:
    cells = [np.arange(SIZE, dtype=np.float32) + i for i in range(3)]
    for target, source in CHAIN:
        cells[target] = cells[target] * 2 + cells[source]
    return cells


@pytest.mark.parametrize("seed", range(4))
def test_launches_that_may_overlap_are_chained(seed: int) -> None:
    """TOYB runs kernels in flight last to first, unless a wait is between them."""
    for found, wanted in zip(run_chain(seed), expected_chain()):
        np.testing.assert_array_equal(found, wanted)


def test_without_the_chain_overlap_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submits, "_overlaps", lambda queue: False)
    link_queues._templates.clear()
    with pytest.raises(DeviceError, match=r"race on .* by kernel \(TOYB COMPUTE:0 launch"):
        run_chain(0)
    link_queues._templates.clear()


def test_independent_launches_are_not_chained() -> None:
    result = schedule_submits(batch_of(kernel(B, 0, 1), kernel(B, 2, 3), kernel(B, 0, 2)))
    assert names(result, QueueName(B, "COMPUTE", 0))[2:-1] == [
        "kernel",
        "kernel",
        "store slots of TOYB 16 2",
        "wait slots of TOYB 16 2",
        "kernel",
    ]
