"""Waiting for devices, and what happens to those that fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import ToyDevice, toys

from tg_core.device import Device
from tg_core.device.queues import compiled
from tg_core.device.queues.compiled import Patience
from tg_core.errors import DeviceError
from tg_core.plugins import Capability


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with toys():
        yield


def device(name: str = "TOYA") -> ToyDevice:
    found = Device[name]
    assert isinstance(found, ToyDevice)
    return found


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(compiled.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(compiled.time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_patience_ends_sooner_where_nothing_can_move(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    moving, still = Patience(10), Patience(10)
    assert not moving.is_over(True)
    while not still.is_over(False):
        assert clock.now < 1
    clock.now = 9
    assert not moving.is_over(True)
    clock.now = 11
    assert moving.is_over(True)
    moving.renew()
    assert not moving.is_over(True)


def test_a_wait_without_progress_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    toy = device()
    toy.timeline.words[1] = 3
    with pytest.raises(DeviceError, match="TOYA: hang: signal 0 did not reach 3"):
        toy.synchronize()
    with pytest.raises(DeviceError, match="TOYA: lost since an earlier error: hang"):
        toy.check()


def test_progress_renews_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    toy = device()
    toy.timeline.words[1] = 4

    def sleep(seconds: float) -> bool:
        clock.now += 20
        toy.timeline.words[0] += 1
        return True

    monkeypatch.setattr(toy, "sleep", sleep)
    toy.synchronize()
    assert clock.now == 80


def test_a_device_that_recovers_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    toy, resets = device(), []
    monkeypatch.setattr(toy, "capabilities", toy.capabilities | {Capability.RECOVERY})
    monkeypatch.setattr(toy, "reset", lambda: resets.append(1))
    toy.timeline.words[1] = 5
    toy.keep("memory")
    error = toy.fail("fault: x")
    assert str(error) == "TOYA: fault: x"
    toy.check()
    assert (toy.timeline.signal, resets, toy.lost, len(toy._in_flight)) == (5, [1], None, 0)


def test_a_device_that_cannot_recover_says_so() -> None:
    with pytest.raises(DeviceError, match="it cannot be reset"):
        device().reset()


def test_what_is_kept_goes_when_its_batch_is_over() -> None:
    toy = device()
    for number in (1, 2, 3):
        toy.timeline.words[1] = number
        toy.keep(f"batch {number}")
    toy.timeline.words[0] = 2
    toy.keep("more")
    assert [what for _, what in toy._in_flight] == ["batch 3", "more"]
    toy.timeline.words[0] = 3
    toy.synchronize()
    assert not toy._in_flight


def test_a_queue_is_made_once_or_is_an_error() -> None:
    toy = device()
    assert toy.queue("COPY", 0) is toy.queue("COPY", 0)
    with pytest.raises(DeviceError, match="TOYA: no queue COPY:1; no plugin makes one"):
        toy.queue("COPY", 1)


def test_staging_memory_is_small_where_the_interface_is_emulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toy = device()
    assert toy.staging_bytes == 128 << 20

    class Record:
        emulated, name = True, "MOCK"

    monkeypatch.setattr(toy.catalog.__class__, "interfaces", lambda self, name: (Record,))
    assert toy.staging_bytes == 128 << 20
    toy.interface_name = "MOCK"
    assert toy.staging_bytes == 4 << 20
