"""The emulated kernel driver refuses what a kernel would, and says why."""

from __future__ import annotations

import errno
import select
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tg_conformance.refdev import uapi
from tg_conformance.refdev.driver import RefDriver
from tg_conformance.refdev.emulated import build_system
from tg_conformance.refdev.interface import RefInterface
from tg_core.backend import (
    AccessFault,
    DeviceError,
    DeviceNotFound,
    EmulatedSystem,
    Machine,
    Rights,
)

HOST = uapi.MemoryFlags.HOST


@pytest.fixture
def system() -> Iterator[EmulatedSystem]:
    """A machine of its own, which has everything back in the end."""
    made = build_system(Machine(0))
    yield made
    assert made.leaks() == []


@pytest.fixture
def ref(system: EmulatedSystem) -> Iterator[RefInterface]:
    opened = RefInterface(system, 0)
    yield opened
    opened.close()


def driver_of(system: EmulatedSystem, interface: RefInterface) -> RefDriver:
    found = system.file(interface.fd)
    assert isinstance(found, RefDriver)
    return found


def test_properties_are_those_of_sysfs(system: EmulatedSystem, ref: RefInterface) -> None:
    assert ref.queue_counts == {"COMPUTE": 1, "COPY": 2}
    assert ref.memory_bytes == 1 << 34
    with pytest.raises(DeviceNotFound, match="no device 8: there are 8 devices"):
        RefInterface(system, 8)


def test_another_version_of_the_driver_is_refused(
    system: EmulatedSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uapi, "MAJOR", 2)
    monkeypatch.setattr(RefDriver, "version", lambda self, argument: setattr(argument, "major", 1))
    with pytest.raises(DeviceError, match=r"speaks version 1\.0, expected 2\.0"):
        RefInterface(system, 0)


def test_memory_is_seen_by_host_and_device(system: EmulatedSystem, ref: RefInterface) -> None:
    space = driver_of(system, ref).space
    memory = ref.allocate(100, uapi.MemoryFlags(0))
    assert set(memory.view) == {0xA5}
    memory.view[:] = bytes(range(100))
    assert space.access(memory.address, 100, Rights.READ).tolist() == list(range(100))
    for address in (memory.address - 1, memory.address + 100, memory.place):
        with pytest.raises(AccessFault, match="not mapped"):
            space.access(address, 1, Rights.READ)
    ref.free(memory)
    with pytest.raises(AccessFault, match="not mapped"):
        space.access(memory.address, 1, Rights.READ)


def test_rights_are_those_that_were_asked_for(system: EmulatedSystem, ref: RefInterface) -> None:
    space = driver_of(system, ref).space
    ring = ref.allocate(64, HOST | uapi.MemoryFlags.READ_ONLY)
    with pytest.raises(AccessFault, match="host memory of REF is not mapped for it"):
        space.access(ring.address, 4, Rights.WRITE)
    values = np.arange(16, dtype=np.uint8)
    asked = uapi.Pin(start=values.ctypes.data, nbytes=16, rights=uapi.Rights.READ)
    system.ioctl(ref.fd, uapi.PIN, asked)
    assert space.access(asked.address, 16, Rights.READ).tolist() == list(range(16))
    with pytest.raises(AccessFault, match="memory of the host is not mapped for it"):
        space.access(asked.address, 16, Rights.WRITE)
    ref.give_up(asked.handle)
    ref.free(ring)


def test_memory_is_shared_until_it_is_given_up(system: EmulatedSystem, ref: RefInterface) -> None:
    other = RefInterface(system, 1)
    memory = ref.allocate(32, uapi.MemoryFlags(0))
    handle, address = other.share(ref, memory)
    assert address == memory.address
    driver_of(system, other).space.access(address, 32, Rights.WRITE)[:] = 7
    assert set(memory.view) == {7}
    system.munmap(memory.place, 32)
    with pytest.raises(OSError, match="memory of REF is shared with REF:1") as error:
        ref.give_up(memory.handle)
    assert error.value.errno == errno.EBUSY
    other.give_up(handle)
    ref.give_up(memory.handle)
    other.close()


def test_memory_of_another_process_address_is_pinned_anywhere(
    system: EmulatedSystem, ref: RefInterface
) -> None:
    """Ranges that overlap are mappings of their own, at addresses of the device."""
    values = np.zeros(64, np.uint8)
    place = int(values.ctypes.data)
    pinned = [ref.pin(place, 64), ref.pin(place, 64), ref.pin(place + 1, 5)]
    assert len({address for _, address in pinned}) == 3
    assert place not in {address for _, address in pinned}
    space = driver_of(system, ref).space
    space.access(pinned[2][1], 5, Rights.WRITE)[:] = 9
    assert space.access(pinned[0][1], 7, Rights.READ).tolist() == [0, 9, 9, 9, 9, 9, 0]
    with pytest.raises(DeviceError, match="0 bytes"):
        ref.pin(place, 0)
    for handle, _ in pinned:
        ref.give_up(handle)


def test_more_than_there_is_is_no_memory(ref: RefInterface) -> None:
    with pytest.raises(MemoryError, match="bytes, 0 are used"):
        ref.allocate((1 << 34) + 1, uapi.MemoryFlags(0))


ASKED: list[tuple[int, int, Any]] = [
    (errno.EINVAL, uapi.ALLOCATE, uapi.Allocate()),
    (errno.EINVAL, uapi.ALLOCATE, uapi.Allocate(nbytes=8, flags=4)),
    (errno.EINVAL, uapi.ALLOCATE, uapi.Allocate(nbytes=8, handle=1)),
    (errno.EINVAL, uapi.FREE, uapi.Free(77)),
    (errno.EINVAL, uapi.FREE, uapi.Free(1, 1)),
    (errno.EBADF, uapi.SHARE, uapi.Share(fd=3, handle=1, rights=1)),
    (errno.EINVAL, uapi.PIN, uapi.Pin(start=4096, nbytes=8, rights=4)),
    (errno.EFAULT, uapi.PIN, uapi.Pin(nbytes=8, rights=1)),
    (errno.EINVAL, uapi.CREATE_QUEUE, uapi.CreateQueue(kind=1, index=1, bits=64)),
    (errno.EINVAL, uapi.CREATE_QUEUE, uapi.CreateQueue(kind=3, bits=64)),
    (errno.EINVAL, uapi.CREATE_QUEUE, uapi.CreateQueue(kind=1, bits=48)),
    (errno.EFAULT, uapi.CREATE_QUEUE, uapi.CreateQueue(kind=1, bits=64, ring_words=4)),
    (errno.ENODATA, uapi.GET_FAULT, uapi.Fault()),
    (errno.EBADF, uapi.LISTEN, uapi.Listen(3)),
    (errno.ENOTTY, 0x5299, 0),
]


@pytest.mark.parametrize(("number", "request_number", "argument"), ASKED)
def test_what_is_wrong_is_refused(
    number: int, request_number: int, argument: Any, system: EmulatedSystem, ref: RefInterface
) -> None:
    with pytest.raises(OSError, match=r"node of REF|descriptor") as error:
        system.ioctl(ref.fd, request_number, argument)
    assert error.value.errno == number


def test_there_is_nothing_else_to_map(system: EmulatedSystem, ref: RefInterface) -> None:
    memory = ref.allocate(8, HOST)
    with pytest.raises(OSError, match="which is still mapped") as error:
        ref.share(ref, memory)
    assert error.value.errno == errno.EEXIST
    values = np.zeros(8, np.uint8)
    handle, _ = ref.pin(values.ctypes.data, 8)
    for offset in (handle << 42, 9 << 42, uapi.REGISTERS + 4096):
        with pytest.raises(OSError, match=r"nothing to map|no memory has") as error:
            system.mmap(4096, fd=ref.fd, offset=offset)
        assert error.value.errno == errno.EINVAL
    ref.give_up(handle)
    ref.free(memory)


def test_a_fault_of_a_queue_is_an_interrupt_and_a_report(
    system: EmulatedSystem, ref: RefInterface
) -> None:
    driver = driver_of(system, ref)
    ring = ref.allocate(64, HOST | uapi.MemoryFlags.READ_ONLY)
    cells = ref.allocate(8, HOST)
    for memory in (ring, cells):
        memory.view[:] = bytes(memory.view.nbytes)
    doorbell = ref.create_queue("COPY", 1, ring, 64, cells.address)
    with pytest.raises(OSError, match="it is in use"):
        ref.create_queue("COPY", 1, ring, 64, cells.address)
    assert not ref.wait(0)
    assert ref.fault() is None
    ring.view[:4] = (0xBAD0001).to_bytes(4, "little")
    doorbell.cast("Q")[0] = 1
    assert ref.wait(1)
    assert "REF COPY:1 packet 0 (ring word 0): no opcode 0xbad" in str(ref.fault())
    assert "REF COPY:1" in ref.report()
    assert driver.machine.steps == 1
    ref.reset()
    assert ref.fault() is None
    assert not ref.wait(0)
    ref.close()
    assert driver.machine.queues == []
    for memory in (ring, cells):
        ref.free(memory)


def test_closing_takes_everything_back(system: EmulatedSystem) -> None:
    interface = RefInterface(system, 2)
    other = RefInterface(system, 3)
    memory = interface.allocate(1 << 20, uapi.MemoryFlags(0))
    other.share(interface, memory)
    driver = driver_of(system, interface)
    assert driver.device.used == 1 << 20
    other.close()
    interface.close()
    interface.close()
    assert driver.device.used == 0
    interface.free(memory)
    event = system.event()
    assert system.poll({event: select.POLLIN}, 0) == {}
    system.close(event)
