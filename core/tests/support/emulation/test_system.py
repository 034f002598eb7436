"""An emulated driver with memory, registers and interrupts, reached as a real one is."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import select
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from tg_core.hcq.external import CFunction, HostProgram, ccall, cstruct, provide_functions
from tg_core.support.emulation import (
    AccessFault,
    AddressSpace,
    DriverFile,
    EmulatedQueue,
    EmulatedSystem,
    EventFile,
    Ioctl,
    Machine,
    Register,
    RegisterFile,
    Rights,
)
from tg_core.support.ioctl import Direction, ioctl_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.support.emulation import FaultReport
    from tg_core.support.emulation.memory import Bytes
    from tg_core.support.os_port import OSPort

PAGE = mmap.PAGESIZE
BOTH = Direction.READ | Direction.WRITE
REGISTERS_AT = 1 << 20


class Listen(ctypes.Structure):
    _fields_ = [("event", ctypes.c_int32), ("pad", ctypes.c_uint32)]


LISTEN = ioctl_request(Direction.WRITE, ord("T"), 1, ctypes.sizeof(Listen))


class Copier(EmulatedQueue):
    """Copies what its registers say, when the doorbell rings."""

    name = "TOY COPY:0"

    def __init__(self, space: AddressSpace, done: Callable[[], None]) -> None:
        self.space, self.done = space, done
        self.rung: list[tuple[int, int, int]] = []

    def look(self) -> None:
        pass

    def ready(self) -> bool:
        return bool(self.rung)

    def step(self) -> None:
        target, source, nbytes = self.rung.pop(0)
        data = self.space.access(source, nbytes, Rights.READ).copy()
        self.space.access(target, nbytes, Rights.WRITE)[:] = data
        self.done()

    def state(self) -> str:
        return f"{len(self.rung)} to go"


class ToyDriver(DriverFile):
    """One device, whose memory and registers processes map."""

    name = "/dev/toy"
    IOCTLS: ClassVar = {LISTEN: Ioctl(Listen, "listen", reserved=("pad",))}

    def __init__(self, system: EmulatedSystem, machine: Machine) -> None:
        self.system = system
        self.listening: list[EventFile] = []
        block = np.zeros(5 * PAGE, np.uint8)
        self.cells = block[-block.ctypes.data % PAGE :][: 4 * PAGE]
        self.space = AddressSpace("TOY")
        self.space.map(0x1000, self.cells[: 2 * PAGE], Rights.BOTH, "memory")
        self.space.map(0x1000 + 2 * PAGE, self.cells[2 * PAGE :], Rights.READ, "constants")
        self.queue = Copier(self.space, self.interrupt)
        machine.add(self.queue)
        machine.fault_listeners.append(self.failed)
        self.reports: list[FaultReport] = []
        self.registers = RegisterFile(
            "TOY",
            PAGE,
            [
                Register("TARGET", 0),
                Register("SOURCE", 4),
                Register("LENGTH", 8, reserved=0xF0000000),
                Register("RING", 12, readable=False, on_write=self.ring),
            ],
        )

    def ring(self, value: int) -> None:
        values = self.registers.values
        self.queue.rung.append((values["TARGET"], values["SOURCE"], values["LENGTH"]))

    def interrupt(self) -> None:
        for event in self.listening:
            event.signal()

    def failed(self, report: FaultReport) -> None:
        self.reports.append(report)
        self.interrupt()

    def listen(self, argument: Listen) -> None:
        event = self.system.file(argument.event)
        assert isinstance(event, EventFile)
        self.listening.append(event)

    def map(self, offset: int, nbytes: int, protection: int) -> Bytes | RegisterFile:
        if offset == REGISTERS_AT:
            return self.registers
        return self.cells[offset : offset + nbytes]


def toy() -> tuple[EmulatedSystem, ToyDriver]:
    machine = Machine(1)
    system = EmulatedSystem(machine)
    driver = ToyDriver(system, machine)
    system.add_node("/dev/toy", lambda: driver)
    system.add_file("/sys/class/toy/toy0/version", "7\n")
    system.add_file("/sys/class/toy/toy0/busy", lambda: str(len(driver.queue.rung)))
    return system, driver


class ToyInterface:
    """What a backend would write: it knows the port and nothing of who is behind."""

    def __init__(self, port: OSPort) -> None:
        self.port = port
        self.fd = port.open("/dev/toy")
        self.event = port.event()
        port.ioctl(self.fd, LISTEN, Listen(self.event))
        self.memory = port.mmap(2 * PAGE, fd=self.fd)
        self.place = port.mmap(PAGE, fd=self.fd, offset=REGISTERS_AT)
        self.words = port.words(self.place, PAGE, "I")

    def copy(self, target: int, source: int, nbytes: int) -> bool:
        for index, value in enumerate((target, source, nbytes, 1)):
            self.words[index] = value
        found = self.port.poll({self.event: select.POLLIN}, 10)
        return bool(found) and int.from_bytes(self.port.read(self.event, 8), "little") > 0

    def close(self) -> None:
        self.port.munmap(self.memory, 2 * PAGE)
        self.port.munmap(self.place, PAGE)
        self.port.close(self.event)
        self.port.close(self.fd)


def test_a_driver_works_as_a_real_one() -> None:
    system, driver = toy()
    interface = ToyInterface(system)
    memory = system.words(interface.memory, 2 * PAGE, "B")
    for i in range(8):
        memory[i] = 10 + i
    assert interface.copy(0x1000 + PAGE, 0x1000, 8)
    assert memory.read(PAGE, PAGE + 8) == list(range(10, 18))
    assert driver.reports == []
    assert len(system.leaks()) == 4
    interface.close()
    assert system.leaks() == []


def test_faults_of_the_device_reach_the_driver_and_wake_who_waits() -> None:
    system, driver = toy()
    interface = ToyInterface(system)
    assert interface.copy(0x1000 + 2 * PAGE, 0x1000, 16)
    (report,) = driver.reports
    assert (report.queue, report.kind) == ("TOY COPY:0", "access")
    assert (report.address, report.nbytes, report.write) == (0x1000 + 2 * PAGE, 16, True)
    assert "constants is not mapped for it" in report.message
    with pytest.raises(AccessFault, match="sets reserved bits 0x80000000"):
        interface.copy(0, 0, 1 << 31)
    interface.close()


def test_polling_ends_with_its_time() -> None:
    system, _ = toy()
    event = system.event()
    assert system.poll({event: select.POLLIN}, 0.01) == {}
    assert system.poll({event: select.POLLOUT}, 0) == {event: select.POLLOUT}


def test_polling_for_no_time_lets_queues_have_one_turn() -> None:
    system, driver = toy()
    event = system.event()
    for _ in range(100):
        driver.queue.rung.append((0x1000, 0x1100, 4))
    left = 100
    for _ in range(3):
        assert system.poll({event: select.POLLIN}, 0) == {}
        assert 0 < left - len(driver.queue.rung) < 10
        left = len(driver.queue.rung)


def test_memory_is_seen_as_bytes_and_registers_are_not() -> None:
    system, driver = toy()
    interface = ToyInterface(system)
    view = system.memory(interface.memory + 16, 8)
    view[:] = b"12345678"
    assert driver.cells[16:24].tobytes() == b"12345678"
    with pytest.raises(PermissionError, match="registers of TOY are accessed as words alone"):
        system.memory(interface.place, 4)
    fd = system.open("/dev/toy", os.O_RDONLY)
    assert system.memory(system.mmap(PAGE, mmap.PROT_READ, fd=fd), 4).readonly
    start = system.mmap(PAGE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    system.memory(start, 2)[:] = b"ab"
    assert ctypes.string_at(start, 2) == b"ab"


def test_memory_may_be_mapped_several_times() -> None:
    system, _ = toy()
    fd = system.open("/dev/toy")
    places = [system.mmap(PAGE, fd=fd) for _ in range(2)]
    assert len(system.leaks()) == 3
    system.munmap(places[0], PAGE)
    assert system.words(places[1], PAGE)[0] == 0
    system.munmap(places[1], PAGE)
    with pytest.raises(OSError, match="fits no mapping"):
        system.munmap(places[1], PAGE)
    system.close(fd)
    assert system.leaks() == []


def test_a_table_of_requests_agrees_with_their_numbers() -> None:
    with pytest.raises(ValueError, match="listen has an argument of 8 bytes, its request says 4"):
        type(
            "Wrong",
            (DriverFile,),
            {"IOCTLS": {ioctl_request(Direction.WRITE, 1, 1, 4): Ioctl(Listen, "listen")}},
        )


def test_files_of_sysfs() -> None:
    system, driver = toy()
    assert system.read_text("/sys/class/toy/toy0/version") == "7"
    assert system.read_text("/sys/class/toy/toy0/busy") == "0"
    driver.queue.rung.append((0, 0, 0))
    assert system.read_text("/sys/class/toy/toy0/busy") == "1"
    assert system.listdir("/sys/class/toy/toy0") == ["busy", "version"]
    assert system.listdir("/dev/") == ["toy"]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        (errno.ENOENT, lambda s: s.open("/dev/other")),
        (errno.EACCES, lambda s: s.open("/sys/class/toy/toy0/version")),
        (errno.ENOENT, lambda s: s.read_file("/sys/none")),
        (errno.EISDIR, lambda s: s.read_file("/sys/class/toy")),
        (errno.ENOENT, lambda s: s.listdir("/sys/none")),
        (errno.ENOTDIR, lambda s: s.listdir("/sys/class/toy/toy0/version")),
        (errno.EBADF, lambda s: s.close(3)),
        (errno.EBADF, lambda s: s.ioctl(3, 1)),
        (errno.EBADF, lambda s: s.read(3, 1)),
        (errno.EBADF, lambda s: s.write(3, b"")),
        (errno.EBADF, lambda s: s.poll({3: 1}, 0)),
        (errno.EBADF, lambda s: s.mmap(PAGE)),
        (errno.EINVAL, lambda s: s.mmap(0, fd=s.open("/dev/toy"))),
        (errno.EINVAL, lambda s: s.mmap(PAGE, fd=s.open("/dev/toy"), offset=8)),
        (errno.EINVAL, lambda s: s.mmap(PAGE, flags=0, fd=s.open("/dev/toy"))),
        (errno.EINVAL, lambda s: s.mmap(8 * PAGE, fd=s.open("/dev/toy"))),
        (errno.EINVAL, lambda s: s.mmap(PAGE, flags=0x11, address=PAGE, fd=s.open("/dev/toy"))),
        (errno.EACCES, lambda s: s.mmap(PAGE, fd=s.open("/dev/toy", os.O_RDONLY))),
        (errno.EACCES, lambda s: s.mmap(PAGE, fd=s.open("/dev/toy", os.O_WRONLY))),
        (errno.EBADF, lambda s: s.write(s.open("/dev/toy", os.O_RDONLY), b"1")),
        (errno.ENODEV, lambda s: s.mmap(PAGE, fd=s.event())),
        (errno.EINVAL, lambda s: s.munmap(PAGE, PAGE)),
        (errno.EINVAL, lambda s: s.munmap(s.mmap(2 * PAGE, fd=s.open("/dev/toy")), PAGE)),
        (errno.EFAULT, lambda s: s.words(PAGE, 4)),
        (errno.EFAULT, lambda s: s.memory(PAGE, 4)),
        (errno.EINVAL, lambda s: s.write(s.event(), b"\xff" * 8)),
    ],
)
def test_what_is_wrong_is_refused_with_the_kernels_number(
    code: int, call: Callable[[EmulatedSystem], object]
) -> None:
    system, _ = toy()
    with pytest.raises(OSError) as error:
        call(system)
    assert error.value.errno == code


def test_rights_of_a_mapping_are_those_it_was_made_with() -> None:
    system, _ = toy()
    fd = system.open("/dev/toy", os.O_RDONLY)
    words = system.words(system.mmap(PAGE, mmap.PROT_READ, fd=fd), 16)
    assert words[0] == 0
    with pytest.raises(TypeError, match="read-only"):
        words[0] = 1
    anonymous = system.mmap(PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with pytest.raises(PermissionError, match="not mapped for reading"):
        system.words(anonymous, 4)


def test_anonymous_memory_comes_from_the_machine() -> None:
    system, _ = toy()
    start = system.mmap(2 * PAGE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    words = system.words(start + PAGE, 8, "Q")
    words[0] = 1 << 63
    assert ctypes.c_uint64.from_address(start + PAGE).value == 1 << 63
    system.munmap(start, 2 * PAGE)
    assert system.leaks() == []
    with pytest.raises(OSError, match="anonymous memory of descriptor 7"):
        system.mmap(PAGE, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, fd=7)


def test_compiled_host_programs_ask_the_emulated_driver() -> None:
    system, driver = toy()
    fd, event = system.open("/dev/toy"), system.event()
    provide_functions("toy", system.c_functions())
    ioctl = CFunction(
        "ioctl", ctypes.c_int, (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p), library="toy"
    )
    HostProgram([ccall(ioctl, fd, LISTEN, cstruct(Listen, event=event))], {})()
    assert driver.listening == [system.file(event)]
    HostProgram([ccall(ioctl, fd, LISTEN, cstruct(Listen, event=event, pad=1))], {})()
    assert "pad is reserved" in str(system.refused)
