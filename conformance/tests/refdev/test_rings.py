"""Rings and timelines at their ends."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.refdev.device import RefDevice
from tg_conformance.refdev.emulated import MACHINE
from tg_core import Device, Tensor, TinyJit
from tg_core.device.queues import HCQCompiled


def opened(name: str) -> HCQCompiled:
    device = Device[name]
    assert isinstance(device, HCQCompiled)
    return device


def test_a_ring_wraps_at_every_offset() -> None:
    """Packets of four words begin at every word of the ring and go on across its end."""
    device = opened("REF:3")
    x = Tensor(np.zeros(2, np.float32)).to("REF:3").realize()
    x = (x + 1).realize()
    device.synchronize()
    executor = next(e for e in MACHINE.queues if e.name == "REF:3 COMPUTE:0")
    queue = device.queue("COMPUTE", 0)
    words = queue.ring.size
    for offset in range(words):
        start = 5 * words + offset
        executor.read = executor.pushed = start
        for part in (queue.put_value, queue.read_ptr, queue.write_ptr, queue.doorbell):
            part.opaque.host_bytes().cast("Q")[0] = start
        x = (x + 1).realize()
        device.synchronize()
        assert executor.read == start + 4
    assert x.numpy().tolist() == [words + 1.0] * 2


def test_a_full_ring_makes_the_host_wait() -> None:
    device = opened("REF:3")
    x = Tensor(np.zeros(2, np.float32)).to("REF:3").realize()
    submissions = device.queue("COMPUTE", 0).ring.size // 4
    for _ in range(2 * submissions):
        x = (x + 1).realize()
    assert x.numpy().tolist() == [2.0 * submissions] * 2


@pytest.mark.parametrize(("bits", "index"), [(32, 4), (64, 5)])
def test_a_timeline_starts_over_before_its_numbers_turn_negative(
    bits: int, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RefDevice, "SIGNAL_BITS", bits)
    name = f"REF:{index}"
    device = opened(name)
    device.timeline.start_over((1 << (bits - 1)) - 4)

    @TinyJit
    def step(a: Tensor) -> Tensor:
        return ((a.to("REF") * 2).to(name) + 1).realize()

    for turn in range(12):
        a = Tensor(np.full(3, turn, np.float32)).to(name).realize()
        assert step(a).numpy().tolist() == [2.0 * turn + 1] * 3
        assert device.timeline.given < 1 << (bits - 1)
    assert device.timeline.given < 100


def test_memory_of_a_timeline_was_used_before() -> None:
    device = opened("REF:6")
    assert (device.timeline.signal, device.timeline.given) == (0, 0)
    device.synchronize()
