from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import ToyDevice, toys

from tg_core.device import Buffer, Device
from tg_core.device.queues import Timeline
from tg_core.device.queues.timeline import SHARED, Dependent
from tg_core.dtype import dtypes


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def device() -> ToyDevice:
    found = Device["TOYA"]
    assert isinstance(found, ToyDevice)
    return found


class Kept(Dependent):
    forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1


def test_memory_that_was_used_before_says_nothing() -> None:
    used = Buffer("TOYA", 2, dtypes.uint64, options=SHARED).copyin(b"\xff" * 16)
    place = used.opaque.address
    del used
    timeline = Timeline(device(), 64)
    assert timeline.buffer.opaque.address == place
    assert (timeline.signal, timeline.given) == (0, 0)


@pytest.mark.parametrize("bits", [32, 64])
def test_a_timeline_is_full_before_its_numbers_turn_negative(bits: int) -> None:
    timeline = Timeline(device(), bits)
    last = (1 << (bits - 1)) - 2
    for number, full in ((0, False), (last - 1, False), (last, False), (last + 1, True)):
        timeline.words[1] = number
        assert timeline.full == full


def test_starting_over_is_told_to_who_keeps_numbers() -> None:
    timeline, kept = Timeline(device(), 64), Kept()
    timeline.dependents.add(kept)
    timeline.start_over(7)
    assert (kept.forgotten, timeline.signal, timeline.given) == (1, 7, 7)
    del kept
    timeline.start_over()
    assert timeline.given == 0
