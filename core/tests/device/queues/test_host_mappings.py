"""When memory of the host is mapped for a device, and when that is undone."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import ToyAllocator, ToyDevice, toys

from tg_core.device import Buffer, BufferOptions, Device
from tg_core.device.queues.host_mappings import HostMappings
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


class Calls(ToyAllocator):
    """Notes what is mapped, and refuses more than there is room for."""

    def __init__(self, device: ToyDevice, room: int = 1 << 40) -> None:
        super().__init__(device)
        self.room = room
        self.mapped: list[tuple[int, int]] = []
        self.calls: list[str] = []

    def map_host(self, address: int, nbytes: int) -> int:
        if sum(size for _, size in self.mapped) + nbytes > self.room:
            self.calls.append("refused")
            raise DeviceError("no room")
        assert (address, nbytes) not in self.mapped
        self.mapped.append((address, nbytes))
        self.calls.append("map")
        return address + (1 << 52)

    def unmap_host(self, address: int, nbytes: int) -> None:
        self.mapped.remove((address, nbytes))
        self.calls.append("unmap")


def mappings(most: int = 1 << 40, room: int = 1 << 40) -> tuple[HostMappings, Calls]:
    device = Device["TOYA"]
    assert isinstance(device, ToyDevice)
    calls = Calls(device, room)
    return HostMappings(calls, most), calls


def used(owner: HostMappings, *buffers: Buffer) -> list[int]:
    """Let a run use buffers; returns their addresses."""
    found = [owner.use(buffer) for buffer in buffers]
    owner.done(found)
    return [mapping.address for mapping in found]


def host(nbytes: int = 64) -> Buffer:
    return Buffer("CPU", nbytes, dtypes.uint8).copyin(bytes(nbytes))


def test_a_buffer_is_mapped_once_and_unmapped_when_it_dies() -> None:
    owner, calls = mappings()
    buffer = host()
    place = buffer.compiled.allocator.address(buffer.opaque)
    for _ in range(5):
        assert used(owner, buffer) == [place + (1 << 52)]
    assert calls.calls == ["map"]
    assert owner.nbytes == 64
    del buffer
    assert calls.calls == ["map", "unmap"]
    assert (owner.nbytes, len(owner)) == (0, 0)


def test_a_buffer_in_a_cycle_is_unmapped_by_the_collector() -> None:
    owner, calls = mappings()
    cycle: list[object] = [host()]
    cycle.append(cycle)
    used(owner, cycle[0])  # type: ignore[arg-type]
    del cycle
    gc.collect()
    assert calls.mapped == []


def test_two_buffers_of_one_memory_share_a_mapping() -> None:
    owner, calls = mappings()
    values = np.zeros(64, np.uint8)
    options = BufferOptions(external=int(values.ctypes.data))
    first, second = (Buffer("CPU", 64, dtypes.uint8, options=options).allocate() for _ in range(2))
    assert used(owner, first) == used(owner, second)
    del first
    assert calls.calls == ["map"]
    del second
    assert calls.calls == ["map", "unmap"]


def test_the_least_recently_used_go_first() -> None:
    owner, calls = mappings(most=200)
    a, b, c = host(80), host(90), host(100)
    used(owner, a)
    used(owner, b)
    used(owner, a)
    used(owner, c)
    assert sorted(size for _, size in calls.mapped) == [80, 100]
    used(owner, b)
    assert sorted(size for _, size in calls.mapped) == [90, 100]
    del a, b, c
    assert calls.mapped == []


def test_more_than_may_stay_is_mapped_for_a_run() -> None:
    owner, calls = mappings(most=50)
    buffer = host(80)
    for _ in range(3):
        used(owner, buffer)
        assert calls.mapped == []
    assert calls.calls == ["map", "unmap"] * 3
    assert len(owner._of) == 1
    del buffer
    assert calls.calls == ["map", "unmap"] * 3


def test_what_a_run_is_using_stays() -> None:
    owner, calls = mappings(room=200)
    a, b, c = host(80), host(90), host(100)
    first, second = owner.use(a), owner.use(b)
    with pytest.raises(DeviceError, match="no room"):
        owner.use(c)
    assert sorted(size for _, size in calls.mapped) == [80, 90]
    owner.done([first])
    third = owner.use(c)
    assert sorted(size for _, size in calls.mapped) == [90, 100]
    owner.done([second, third])
    assert calls.calls == ["map", "map", "refused", "refused", "unmap", "map"]


def test_a_device_without_memory_gets_back_what_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = mappings()
    buffer = host()
    used(calls.host_mappings, buffer)
    create, tries = ToyAllocator.create, []

    def full(self: ToyAllocator, nbytes: int, options: BufferOptions) -> object:
        tries.append(len(calls.mapped))
        if calls.mapped:
            raise MemoryError("no room for its tables")
        return create(self, nbytes, options)

    monkeypatch.setattr(ToyAllocator, "create", full)
    made = calls.alloc(32, BufferOptions())
    assert tries == [1, 0]
    calls.free(made, 32, BufferOptions())


def test_a_buffer_that_dies_in_a_packet_is_unmapped_later(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, calls = mappings()
    buffer, other = host(), host(16)
    used(owner, buffer)
    with monkeypatch.context() as patch:
        patch.setattr(ToyDevice, "occupied", True)
        del buffer
        assert calls.calls == ["map"]
    used(owner, other)
    assert calls.calls == ["map", "unmap", "map"]


def test_a_buffer_that_dies_while_another_is_mapped_is_unmapped_later() -> None:
    owner, calls = mappings()
    dying, other = [host()], host(16)
    used(owner, dying[0])
    map_host = calls.map_host

    def map_and_drop(address: int, nbytes: int) -> int:
        dying.clear()
        assert calls.calls == ["map"]
        return map_host(address, nbytes)

    calls.map_host = map_and_drop  # type: ignore[method-assign]
    used(owner, other)
    assert calls.calls == ["map", "map", "unmap"]


def test_what_a_run_left_in_flight_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, calls = mappings()
    buffer = host()
    used(owner, buffer)
    waited: list[int] = []
    monkeypatch.setattr(calls.device, "synchronize", lambda: waited.append(len(calls.mapped)))
    assert owner.release()
    assert waited == [1]
    assert not owner.release()
    assert waited == [1]
    used(owner, buffer)
    monkeypatch.setattr(calls.device, "lost", "hang")
    assert owner.release()
    assert waited == [1]
