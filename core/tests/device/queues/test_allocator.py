"""Who waits and who unmaps when memory of devices with queues is given up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import ToyAllocator, ToyDevice, toys

from tg_core.device import Buffer, BufferOptions, Device
from tg_core.device.queues import HCQAllocator
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError

HOST = BufferOptions(host_access=True, host=True)


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def device(name: str) -> ToyDevice:
    found = Device[name]
    assert isinstance(found, ToyDevice)
    return found


def allocator(name: str) -> ToyAllocator:
    found = device(name).hcq_allocator
    assert isinstance(found, ToyAllocator)
    return found


def mappings(name: str) -> int:
    return len(device(name).space._mappings)


def test_an_address_on_its_own_device_needs_no_mapping() -> None:
    own = allocator("TOYA").alloc(64, BufferOptions())
    before = mappings("TOYA")
    assert allocator("TOYA").address_of(own.part(8, 8)) == own.address + 8
    assert mappings("TOYA") == before
    allocator("TOYA").free(own, 64, BufferOptions())


def test_peers_are_mapped_once_and_for_all_parts() -> None:
    before = mappings("TOYA:1")
    whole = allocator("TOYA").alloc(64, BufferOptions())
    peer = allocator("TOYA:1")
    starts = [peer.address_of(whole.part(offset, 4)) for offset in (0, 12, 60)]
    assert starts == [whole.address + offset for offset in (0, 12, 60)]
    assert mappings("TOYA:1") == before + 1
    allocator("TOYA").free(whole, 64, BufferOptions())
    assert mappings("TOYA:1") == before


def test_memory_of_the_host_is_shown_to_other_types() -> None:
    before = mappings("TOYB")
    whole = allocator("TOYA").alloc(64, HOST)
    assert whole.in_host
    assert allocator("TOYB").address_of(whole.part(16, 4)) == whole.host_address + 16
    assert mappings("TOYB") == before + 1
    allocator("TOYA").free(whole, 64, HOST)
    assert mappings("TOYB") == before


def test_other_memory_is_not() -> None:
    whole = allocator("TOYA").alloc(64, BufferOptions())
    with pytest.raises(DeviceError, match="TOYB: it never reaches TOYA"):
        allocator("TOYB").address_of(whole)
    allocator("TOYA").free(whole, 64, BufferOptions())


def test_every_device_that_reaches_memory_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    whole = allocator("TOYA").alloc(64, BufferOptions())
    allocator("TOYA:1").address_of(whole)
    for name in ("TOYA", "TOYA:1", "TOYA:2"):
        monkeypatch.setattr(device(name), "synchronize", lambda name=name: waited.append(name))
    allocator("TOYA").free(whole, 64, BufferOptions())
    assert waited == ["TOYA", "TOYA:1"]


def test_where_nothing_can_be_waited_for_memory_is_released_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = mappings("TOYA")
    whole = allocator("TOYA").alloc(64, BufferOptions())
    with monkeypatch.context() as patched:
        patched.setattr(ToyDevice, "occupied", True)
        allocator("TOYA").free(whole, 64, BufferOptions())
        assert mappings("TOYA") == before + 1
    other = allocator("TOYA").alloc(32, BufferOptions())
    assert mappings("TOYA") == before + 1
    allocator("TOYA").free(other, 32, BufferOptions())


def test_what_a_backend_does_not_have_is_said() -> None:
    bare = HCQAllocator(device("TOYA"))
    with pytest.raises(DeviceError, match="its allocator cannot create memory"):
        bare.alloc(4, BufferOptions())
    with pytest.raises(DeviceError, match="it cannot reach memory of the host"):
        bare.map_host(0x1000, 4)
    whole = allocator("TOYA:1").alloc(64, BufferOptions())
    with pytest.raises(DeviceError, match="TOYA: it cannot reach memory of TOYA:1"):
        bare.address_of(whole)
    allocator("TOYA:1").free(whole, 64, BufferOptions())


def test_memory_comes_back_with_its_buffers() -> None:
    Buffer("TOYA", 1000, dtypes.uint8).copyin(bytes(1000))
    before = mappings("TOYA")
    for _ in range(5):
        Buffer("TOYA", 1000, dtypes.uint8).copyin(bytes(1000))
    assert mappings("TOYA") == before
