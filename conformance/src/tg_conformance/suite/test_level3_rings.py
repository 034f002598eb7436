"""Level 3: rings and timelines at their ends."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.suite.queues import filled, link, mix_call, numbers, opened, peers
from tg_core import Tensor, TinyJit, dtypes
from tg_core.uop.ops import UOp

pytestmark = [pytest.mark.tg_level(3), pytest.mark.tg_needs("QUEUES")]

MOST = 3000
"""Submissions, however long the ring is."""


def adder(device: str) -> UOp:
    """Return a call that adds twice its second parameter to its first."""
    a, b = (UOp.param(slot, dtypes.int32, (4,), device) for slot in (0, 1))
    return mix_call(a, b, 4)


@pytest.mark.tg_core
def test_a_ring_wraps_at_every_offset(tg_device: str) -> None:
    """Submissions of every position in the ring do what the first one did.

    It goes on until a submission begins where one has begun before. A ring whose length is no
    multiple of a submission's is cut at every word.
    """
    device = opened(tg_device)
    linked, step = link([adder(tg_device)]), np.array([1, 0, -1, 3], np.int32)
    total, addend = filled(tg_device, np.zeros(4, np.int32)), filled(tg_device, step)
    queue = device.queue("COMPUTE", 0)
    put, length = queue.put_value.opaque.host_bytes().cast("Q"), queue.ring.nbytes
    seen: set[int] = set()
    done = 0
    while put[0] % length not in seen and done < MOST:
        place = put[0] % length
        seen.add(place)
        linked.run([total, addend])
        done += 1
        if done % 16 == 0 or done < 16:
            what = f"{tg_device}: submission {done}, which begins at {place} of {length}"
            check(what, total.numpy(), step * 2 * done)
    check(f"{tg_device}: after {done} submissions", total.numpy(), step * 2 * done)


def check(what: str, got: np.ndarray, wanted: np.ndarray) -> None:
    """Compare numbers."""
    assert np.array_equal(got, wanted), f"{what}: got {got.tolist()}, expected {wanted.tolist()}"


@pytest.mark.tg_core
def test_a_full_ring_makes_the_host_wait(tg_device: str) -> None:
    """More work than the ring holds is given without waiting for any, and all of it is done."""
    device = opened(tg_device)
    # A batch runs again only when its last run is over, so there must be many.
    batches = [link([adder(tg_device)]) for _ in range(96)]
    total, addend = (filled(tg_device, np.full(4, n, np.int32)) for n in (0, 1))
    queue = device.queue("COMPUTE", 0)
    put = queue.put_value.opaque.host_bytes().cast("Q")
    start, done = put[0], 0
    while put[0] - start <= 2 * queue.ring.nbytes and done < MOST:
        batches[done % len(batches)].run([total, addend])
        done += 1
    check(f"{tg_device}: after {done} submissions", total.numpy(), np.full(4, 2 * done))


@pytest.mark.tg_core
@pytest.mark.parametrize("bits", [32, 64])
def test_a_timeline_starts_over_before_it_turns_negative(
    tg_device: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started just below half of its numbers, a timeline begins again, and nothing is lost."""
    names = peers(tg_device, 2)
    timelines = [opened(name).timeline for name in names]
    for name in peers(tg_device):
        # Any queue may hold a wait for these timelines.
        opened(name).synchronize()
    for timeline in timelines:
        # A device that compares 64 bits keeps its promise for 32, too.
        monkeypatch.setattr(timeline, "bits", min(bits, timeline.bits))
        timeline.start_over((1 << (timeline.bits - 1)) - 4)

    @TinyJit
    def step(a: Tensor) -> Tensor:
        return ((a.to(names[-1]) * 2).to(tg_device) + 1).realize()

    for turn in range(12):
        a = Tensor(np.full(3, turn, np.int32)).to(tg_device).realize()
        what = f"{tg_device}: turn {turn + 1} across the end of a timeline of {bits} bits"
        check(what, step(a).numpy(), np.full(3, 2 * turn + 1))
        for name, timeline in zip(names, timelines):
            assert timeline.given < 1 << (timeline.bits - 1), (
                f"{name}: turn {turn + 1}: the timeline is at {timeline.given:#x}, which "
                f"compares as negative with {timeline.bits} bits"
            )
    assert timelines[0].given < 200, f"{tg_device}: the timeline did not start over"


def test_signals_only_grow(tg_device: str) -> None:
    """A device that is idle has reached what it was given, and work adds to it."""
    device = opened(tg_device)
    device.synchronize()
    linked, (total, addend) = (
        link([adder(tg_device)]),
        (filled(tg_device, numbers(seed, 4)) for seed in (1, 2)),
    )
    before = device.timeline.given
    assert device.timeline.signal == before, (
        f"{tg_device}: idle at signal {device.timeline.signal}, given {before}"
    )
    for run in range(1, 4):
        linked.run([total, addend])
        given = device.timeline.given
        assert given == before + run, f"{tg_device}: {given} given after {run} runs on {before}"
        device.synchronize()
        assert device.timeline.signal == given, (
            f"{tg_device}: idle at signal {device.timeline.signal}, given {given}"
        )
