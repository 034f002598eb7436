"""How often the driver is asked to map memory of the host."""

from __future__ import annotations

import gc
from collections import Counter

import numpy as np
import pytest

from tg_conformance.refdev import uapi
from tg_conformance.refdev.emulated import SYSTEM
from tg_core import Device, Tensor, TinyJit
from tg_core.backend import BufferOptions, EmulatedSystem
from tg_core.device import Buffer
from tg_core.dtype import dtypes

NAME = "REF:2"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each request came through the port."""
    counted: Counter[str] = Counter()
    names = {uapi.PIN: "pin", uapi.FREE: "free", uapi.ALLOCATE: "allocate", uapi.SHARE: "share"}
    ioctl = EmulatedSystem.ioctl
    pinned: set[int] = set()

    def noted(self: EmulatedSystem, fd: int, request: int, argument: object = 0) -> int:
        result = ioctl(self, fd, request, argument)
        name = names.get(request, "other")
        if name == "pin":
            pinned.add(argument.handle)
        if name == "free" and argument.handle in pinned:
            name = "unpin"
        counted[name] += 1
        return result

    Device[NAME].synchronize()
    gc.collect()
    monkeypatch.setattr(EmulatedSystem, "ioctl", noted)
    return counted


def test_a_tensor_of_the_host_is_mapped_once(asked: Counter[str]) -> None:
    source = Tensor(np.arange(300, dtype=np.float32)).realize()
    for turn in range(6):
        moved = source.to(NAME).contiguous().realize()
        assert (moved + turn).numpy().tolist() == (np.arange(300) + turn).tolist()
    assert asked["pin"] == 1
    assert asked["unpin"] == 0
    del source, moved
    gc.collect()
    assert asked["unpin"] == 1


def test_replays_on_memory_of_the_host_map_nothing(asked: Counter[str]) -> None:
    @TinyJit
    def step(x: Tensor) -> Tensor:
        return (x.to(NAME) * 2).contiguous().realize()

    source = Tensor(np.zeros(50, np.float32)).realize()
    for _ in range(3):
        step(source)
    before = Counter(asked)
    for turn in range(5):
        source.assign(source + 1).realize()
        assert step(source).numpy().tolist() == [2.0 * (turn + 1)] * 50
    assert asked["pin"] == before["pin"]
    assert asked["unpin"] == before["unpin"]


def test_an_array_of_the_caller_that_dies_is_unmapped(asked: Counter[str]) -> None:
    """Nothing of the device reaches memory that its owner may give back."""
    for turn in range(4):
        values = np.full(1 << 16, turn, np.int32)
        options = BufferOptions(external=int(values.ctypes.data))
        source = Buffer("CPU", values.size, dtypes.int32, options=options).allocate()
        tensor = Tensor.from_blob(int(values.ctypes.data), (values.size,), dtype=dtypes.int32)
        assert (tensor.to(NAME) + 1).numpy()[-1] == turn + 1
        del tensor, source, values
        gc.collect()
        assert asked["pin"] == asked["unpin"] == turn + 1


def test_memory_of_a_device_is_shared_once(asked: Counter[str]) -> None:
    source = Tensor(np.arange(8, dtype=np.float32)).to(NAME).realize()
    before = asked["share"]
    counts = []
    for _ in range(4):
        assert (source.to("REF:1") + 1).numpy().tolist() == list(range(1, 9))
        counts.append(asked["share"] - before)
    # commands and signals of each batch are shared with their first use
    assert counts[-1] == counts[-2]


def test_nothing_stays_pinned() -> None:
    source = Tensor(np.arange(8, dtype=np.float32)).realize()
    source.to(NAME).realize()
    mappings = Device[NAME].hcq_allocator.host_mappings
    assert mappings.nbytes > 0
    del source
    gc.collect()
    assert [leak for leak in SYSTEM.leaks() if "of the host" in leak] == []
