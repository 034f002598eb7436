from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import ToyDevice, toys

from tg_core.device import Buffer, BufferOptions, Device
from tg_core.device.queues.ring_pool import ALIGNMENT, RingPool
from tg_core.dtype import dtypes

OPTIONS = BufferOptions(host_access=True)


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def device() -> ToyDevice:
    found = Device["TOYA"]
    assert isinstance(found, ToyDevice)
    return found


def offset(pool: RingPool, buffer: Buffer) -> int | None:
    return buffer.offset if buffer.root is pool.memory else None


def test_memory_is_taken_in_turn_and_aligned() -> None:
    pool = RingPool(device(), 1024, OPTIONS)
    taken = [pool.take(size, dtypes.uint32) for size in (1, 40, 32)]
    assert [offset(pool, buffer) for buffer in taken] == [0, ALIGNMENT, 3 * ALIGNMENT]
    assert [(b.size, b.dtype) for b in taken] == [
        (1, dtypes.uint32),
        (40, dtypes.uint32),
        (32, dtypes.uint32),
    ]


def test_what_nobody_keeps_is_given_out_again() -> None:
    pool = RingPool(device(), 1024, OPTIONS)
    assert [offset(pool, pool.take(512, dtypes.uint8)) for _ in range(5)] == [0, 512, 0, 512, 0]


def test_what_is_kept_is_never_given_out() -> None:
    pool = RingPool(device(), 1024, OPTIONS)
    kept = pool.take(300, dtypes.uint8)
    kept.copyin(b"k" * 300)
    for _ in range(6):
        other = pool.take(512, dtypes.uint8)
        other.copyin(bytes(512))
    assert offset(pool, other) is None
    assert kept.numpy().tobytes() == b"k" * 300
    del kept
    assert offset(pool, pool.take(512, dtypes.uint8)) is not None


def test_what_is_in_flight_is_waited_for() -> None:
    toy = device()
    pool = RingPool(toy, 1024, OPTIONS)
    toy.timeline.words[1] += 1
    toy.keep(pool.take(1024, dtypes.uint8))
    toy.timeline.words[0] += 1
    assert offset(pool, pool.take(1024, dtypes.uint8)) == 0


def test_what_does_not_fit_is_made_apart() -> None:
    pool = RingPool(device(), 1024, OPTIONS)
    assert offset(pool, pool.take(1025, dtypes.uint8)) is None


def test_what_is_kept_at_the_end_does_not_hide_what_is_kept_at_the_front() -> None:
    pool = RingPool(device(), 1024, OPTIONS)
    pool.take(896, dtypes.uint8)
    last = pool.take(100, dtypes.uint8)
    first, _ = pool.take(300, dtypes.uint8), pool.take(400, dtypes.uint8)
    assert (offset(pool, last), offset(pool, first)) == (896, 0)
    assert offset(pool, pool.take(200, dtypes.uint8)) is None
