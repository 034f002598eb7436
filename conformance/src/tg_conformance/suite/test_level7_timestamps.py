"""Level 7: the times that queues write are those of the calls of a batch, in their order."""

from __future__ import annotations

import time

import pytest

from tg_conformance.suite.graphs import Graphs, check_contents, expected
from tg_conformance.suite.queues import batch_of, filled, mix_call, numbers, opened, peers, reseed
from tg_core import Device, dtypes
from tg_core.backend import Capability
from tg_core.hcq import QueueName, link_submits
from tg_core.uop.ops import UOp

pytestmark = [pytest.mark.tg_level(7), pytest.mark.tg_needs("QUEUES", "TIMESTAMPS")]

TOLERANCE = 1.05
"""How much longer than the host waited a batch may claim to have run: clocks differ."""


@pytest.mark.parametrize("seed", range(4))
def test_times_follow_the_order_of_each_queue(tg_device: str, seed: int) -> None:
    """Every call has a start and an end, and in one queue it ends before the next one begins."""
    reseed(tg_device, seed)
    graphs = Graphs(tuple(peers(tg_device)))
    graph, start = graphs.draw(seed, 24), graphs.start(seed)
    buffers, wanted = graphs.buffers(start), start
    linked = link_submits(batch_of(graphs.calls(graph)), {}, timed=True)
    for run in range(1, 4):
        linked.run(buffers, wait=True)
        wanted = expected(graph, wanted)
        times = linked.times()
        assert len(times) == len(graph), f"{tg_device}: {len(times)} times of {len(graph)} calls"
        last: dict[QueueName, tuple[int, float]] = {}
        for number, (op, (begin, end)) in enumerate(zip(graph, times)):
            what = f"{tg_device}: run {run}, call {number} ({op})"
            assert 0 < begin <= end, f"{what} begins at {begin} and ends at {end}"
            owner = op.target[0] if op.kernel else op.source[0]
            queue = QueueName(graphs.device_of(owner), "COMPUTE" if op.kernel else "COPY", 0)
            if queue in last and not _overlap(queue):
                before, previous = last[queue]
                assert previous <= begin, (
                    f"{what} begins at {begin}, before call {before} of {queue} ends at {previous}"
                )
            last[queue] = number, end
    check_contents("after 3 timed runs", buffers, wanted)


def _overlap(queue: QueueName) -> bool:
    """Tell whether calls of a queue may overlap, or be spread over several."""
    device = opened(queue.device)
    if queue.kind == "COPY":
        return device.QUEUE_COUNTS.get("COPY", 1) > 1
    return Capability.OVERLAPPING_LAUNCHES in device.capabilities


def test_a_batch_takes_no_longer_than_the_host_waited(tg_device: str) -> None:
    """Times are in seconds of the host's clock."""
    a, b = (UOp.param(slot, dtypes.int32, (64,), tg_device) for slot in (0, 1))
    linked = link_submits(batch_of([mix_call(a, b, 64)] * 12), {}, timed=True)
    buffers = [filled(tg_device, numbers(seed, 64)) for seed in (1, 2)]
    for run in range(1, 4):
        opened(tg_device).synchronize()
        before = time.perf_counter()
        linked.run(buffers, wait=True)
        waited = time.perf_counter() - before
        times = linked.times()
        took = times[-1][1] - times[0][0]
        assert 0 < took <= waited * TOLERANCE, (
            f"{tg_device}: run {run}: 12 kernels took {took:g} s by the device, while the host "
            f"waited for {waited:g} s"
        )


def test_times_are_those_of_their_calls(tg_device: str) -> None:
    """The kernel with by far the most work takes longest, wherever in the batch it is."""
    large, small = 1 << 19, 8
    a, b = (UOp.param(slot, dtypes.int32, (large,), tg_device) for slot in (0, 1))
    values = numbers(1, large), numbers(2, large)
    for place in (0, 2, 5):
        sizes = [large if number == place else small for number in range(6)]
        parts = [(a.shrink(((0, n),)), b.shrink(((0, n),)), n) for n in sizes]
        linked = link_submits(batch_of([mix_call(*part) for part in parts]), {}, timed=True)
        best = [float("inf")] * 6
        buffers = [filled(tg_device, cells) for cells in values]
        for _ in range(5):
            linked.run(buffers, wait=True)
            best = [min(old, end - start) for old, (start, end) in zip(best, linked.times())]
        longest = best.index(max(best))
        assert longest == place, (
            f"{tg_device}: of 6 kernels number {place} has {large} elements and the others "
            f"{small}, but number {longest} took longest: {best}"
        )


def test_what_is_not_timed_is_not_slowed_down(tg_device: str) -> None:
    """Without times, a batch has no slots and no packets for them."""
    a, b = (UOp.param(slot, dtypes.int32, (8,), tg_device) for slot in (0, 1))
    call = batch_of([mix_call(a, b, 8)] * 3)
    plain, timed = (link_submits(call, {}, timed=flag).submits for flag in (False, True))
    assert not plain.timed, f"{Device[tg_device].name}: times of a batch that asked for none"
    assert len(timed.timed) == 3, f"{tg_device}: {len(timed.timed)} times of 3 calls"
    assert sum(timed.slots.values()) == sum(plain.slots.values()) + 6, (
        f"{tg_device}: {dict(timed.slots)} slots with times, {dict(plain.slots)} without"
    )
