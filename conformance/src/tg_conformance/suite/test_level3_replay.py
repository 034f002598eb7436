"""Level 3: linked batches run again, on other memory, while earlier ones still run."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from tg_conformance.suite.graphs import Graphs, check_contents, expected
from tg_conformance.suite.queues import (
    batch_of,
    copy_call,
    filled,
    link,
    mix_call,
    numbers,
    opened,
    peers,
    reseed,
)
from tg_core import Device, Tensor, TinyJit, dtypes
from tg_core.device import Buffer
from tg_core.errors import OutOfMemory
from tg_core.hcq import link_submits
from tg_core.uop.ops import UOp

pytestmark = [pytest.mark.tg_level(3), pytest.mark.tg_needs("QUEUES")]

SIZE = 40


def parameters(device: str, count: int) -> list[UOp]:
    """Return storage of `SIZE` elements by parameter slot."""
    return [UOp.param(slot, dtypes.int32, (SIZE,), device) for slot in range(count)]


def check(what: str, buffer: Buffer, wanted: np.ndarray) -> None:
    """Compare the contents of a buffer; the message has the first that differs."""
    got = buffer.numpy()
    wrong = np.flatnonzero(got != wanted)
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {wanted.size} elements are wrong, the first at {wrong[0]}: "
        f"got {got[wrong[0]]}, expected {wanted[wrong[0]]}"
    )


@pytest.mark.tg_core
@pytest.mark.parametrize("seed", range(4))
def test_inputs_change_while_earlier_runs_go_on(tg_device: str, seed: int) -> None:
    """Each run of one linked batch works on the memory it was given, and on no later one's."""
    reseed(tg_device, seed)
    a, b = parameters(tg_device, 2)
    linked = link([mix_call(a, b, SIZE), mix_call(a, b, SIZE)])
    held = []
    for run in range(12):
        first, second = numbers(2 * run, SIZE), numbers(2 * run + 1, SIZE)
        buffers = [filled(tg_device, first), filled(tg_device, second)]
        linked.run(buffers)
        held.append((buffers, first + 4 * second))
    for run, (buffers, wanted) in enumerate(held):
        check(f"{tg_device}: memory of run {run + 1} of 12", buffers[0], wanted)


@pytest.mark.tg_core
def test_one_memory_for_two_parameters(tg_device: str) -> None:
    """Where the order of a batch does not hold for what it is given, it is refused untouched."""
    a, b, c = parameters(tg_device, 3)
    linked = link([mix_call(a, b, SIZE), mix_call(b, c, SIZE)])
    values = [numbers(seed, SIZE) for seed in range(3)]
    buffers = [filled(tg_device, cells) for cells in values]
    assert linked.run(buffers), f"{tg_device}: three memories were refused"
    wanted = values[0] + 2 * values[1], values[1] + 2 * values[2]
    check(f"{tg_device}: first of three memories", buffers[0], wanted[0])
    assert not linked.run([buffers[0], buffers[1], buffers[0]]), (
        f"{tg_device}: one memory for two parameters was not noticed"
    )
    check(f"{tg_device}: first memory after a refusal", buffers[0], wanted[0])
    check(f"{tg_device}: second memory after a refusal", buffers[1], wanted[1])


@pytest.mark.tg_core
def test_a_captured_function_does_not_wait(tg_device: str) -> None:
    """Replays follow each other with inputs that the host writes in between."""

    @TinyJit
    def step(x: Tensor, y: Tensor) -> Tensor:
        return ((x + y).contiguous() * 2 - y).realize()

    results, wanted = [], []
    for call in range(9):
        x, y = numbers(call, 30), numbers(100 + call, 30)
        inputs = [Tensor(cells, device=tg_device).clone().realize() for cells in (x, y)]
        results.append(step(*inputs))
        wanted.append((x + y) * 2 - y)
    for call, (got, want) in enumerate(zip(results, wanted)):
        assert np.array_equal(got.numpy(), want), f"{tg_device}: call {call + 1} of 9 is wrong"


@pytest.mark.tg_core
def test_what_was_encoded_is_used_again(tg_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same batch on other memory is linked anew, and neither encoded nor compiled anew."""
    device = opened(tg_device)
    (record,) = [r for r in device.catalog.queues(device.type) if r.kind == "COMPUTE"]
    queue, count = record.cls.load(), 0
    encode = queue.exec

    def counted(self: Any, launch: Any) -> None:
        nonlocal count
        count += 1
        encode(self, launch)

    monkeypatch.setattr(queue, "exec", counted)
    sizes = [[SIZE, SIZE - 5], [SIZE, SIZE - 5], [SIZE - 5, SIZE]]
    for turn, (first, second) in enumerate(sizes):
        a, b = parameters(tg_device, 2)
        calls = [mix_call(a.shrink(((0, n),)), b.shrink(((0, n),)), n) for n in (first, second)]
        for seed in range(3):
            values = numbers(seed, SIZE), numbers(seed + 9, SIZE)
            buffers = [filled(tg_device, cells) for cells in values]
            before = count
            link(calls).run(buffers)
            wanted = values[0].copy()
            for n in (first, second):
                wanted[:n] += 2 * values[1][:n]
            check(f"{tg_device}: batch {turn + 1}, memory {seed + 1}", buffers[0], wanted)
            if turn == 1 or seed:
                assert count == before, (
                    f"{tg_device}: batch {turn + 1} was encoded again for memory {seed + 1}"
                )


@pytest.mark.tg_core
@pytest.mark.parametrize("seed", range(4))
def test_memory_is_freed_while_queued(tg_device: str, seed: int) -> None:
    """What the host gives up stays until work in flight is done with it."""
    reseed(tg_device, seed)
    a, b = parameters(tg_device, 2)
    linked = link([mix_call(a, b, SIZE)])
    total = filled(tg_device, np.zeros(SIZE, np.int32))
    wanted = np.zeros(SIZE, np.int32)
    for turn in range(10):
        values = numbers(turn, SIZE)
        addend = filled(tg_device, values)
        linked.run([total, addend])
        del addend
        gc.collect()
        Device[tg_device].memory.release_cached()
        # of the size that was freed, with other contents
        filled(tg_device, np.full(SIZE, 77, np.int32))
        wanted += 2 * values
    check(f"{tg_device}: after 10 addends that were freed in flight", total, wanted)


@pytest.mark.tg_needs("COPY_QUEUE")
@pytest.mark.parametrize("seed", range(3))
def test_memory_of_a_peer_is_freed_while_queued(tg_device: str, seed: int) -> None:
    """Memory is given up by its owner only when the peers that use it are done."""
    names = peers(tg_device, 2)
    if len(names) == 1:
        pytest.skip("undeclared: SEVERAL_DEVICES")
    reseed(tg_device, seed)
    target = UOp.param(0, dtypes.int32, (SIZE,), names[1])
    source = UOp.param(1, dtypes.int32, (SIZE,), names[0])
    linked = link([copy_call(target, source)])
    kept = []
    for turn in range(8):
        values = numbers(turn, SIZE)
        there, here = filled(names[1], np.zeros(SIZE, np.int32)), filled(names[0], values)
        linked.run([there, here])
        del here
        Device[names[0]].memory.release_cached()
        filled(names[0], np.full(SIZE, 77, np.int32))
        kept.append((there, values))
    for turn, (there, values) in enumerate(kept):
        check(f"{names[1]}: copy {turn + 1} of memory that was freed in flight", there, values)


class Refused(Exception):
    """Raised on purpose."""


@pytest.mark.tg_core
@pytest.mark.parametrize("method", ["exec", "wait", "store", "submit"])
def test_an_exception_while_encoding(
    tg_device: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that cannot be encoded gives nothing to any queue, and can be tried again."""
    graphs = Graphs(tuple(peers(tg_device)))
    graph = graphs.draw(hash_of(method), 9)
    start = graphs.start(1)
    buffers = graphs.buffers(start)
    call = batch_of(graphs.calls(graph))
    devices = [opened(name) for name in graphs.devices]
    for device in devices:
        device.synchronize()
    given = [device.timeline.given for device in devices]
    (record,) = [r for r in devices[0].catalog.queues(devices[0].type) if r.kind == "COMPUTE"]
    with monkeypatch.context() as patch:
        patch.setattr(record.cls.load(), method, refuse)
        with pytest.raises(Refused):
            link_submits(call, {}).run(buffers)
    for device, before in zip(devices, given):
        now = device.timeline.given
        assert now == before, f"{device.name}: {now - before} batches were given after {method}"
    check_contents(f"after an exception in {method}", buffers, start)
    link_submits(call, {}).run(buffers)
    check_contents(f"second try after an exception in {method}", buffers, expected(graph, start))


def hash_of(text: str) -> int:
    """Return a number that is the same in every process."""
    return sum(text.encode())


def refuse(*_: Any) -> Any:
    """Fail."""
    raise Refused("on purpose")


@pytest.mark.tg_core
def test_an_exception_between_filling_in_and_submitting(
    tg_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is broken off, as by Ctrl-C, has given nothing; the next one is right."""
    a, b = parameters(tg_device, 2)
    linked = link([mix_call(a, b, SIZE)])
    values = numbers(1, SIZE), numbers(2, SIZE)
    buffers = [filled(tg_device, cells) for cells in values]
    device = opened(tg_device)
    device.synchronize()
    before = device.timeline.given
    with monkeypatch.context() as patch:
        patch.setattr(device, "submission", refuse)
        with pytest.raises(Refused):
            linked.run(buffers)
    assert device.timeline.given == before, f"{tg_device}: work was given by a run that failed"
    check(f"{tg_device}: after a run that was broken off", buffers[0], values[0])
    linked.run(buffers)
    check(f"{tg_device}: the run after it", buffers[0], values[0] + 2 * values[1])


@pytest.mark.tg_core
def test_no_memory_for_a_run(tg_device: str) -> None:
    """Storage that does not fit is an error before anything is given."""
    limit = Device[tg_device].allocator.limit() or 1 << 46
    a, b = parameters(tg_device, 2)
    linked = link([mix_call(a, b, SIZE)])
    values = numbers(3, SIZE)
    kept = filled(tg_device, values)
    before = opened(tg_device).timeline.given
    for _ in range(2):
        with pytest.raises(OutOfMemory):
            linked.run([Buffer(tg_device, limit, dtypes.int32), kept])
    assert opened(tg_device).timeline.given == before, f"{tg_device}: work was given all the same"
    check(f"{tg_device}: memory of a run that did not fit", kept, values)
    total = filled(tg_device, values)
    linked.run([total, kept])
    check(f"{tg_device}: the run after it", total, values * 3)
