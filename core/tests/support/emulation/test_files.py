"""Drivers as tables of requests."""

from __future__ import annotations

import ctypes
import errno
from typing import ClassVar

import pytest

from tg_core.support.emulation import DriverFile, EmulatedFile, EventFile, Ioctl
from tg_core.support.ioctl import Direction, ioctl_request

BOTH = Direction.READ | Direction.WRITE


class Make(ctypes.Structure):
    _fields_ = [
        ("nbytes", ctypes.c_uint64),
        ("handle", ctypes.c_uint32),
        ("pad", ctypes.c_uint32),
    ]


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


MAKE = ioctl_request(BOTH, ord("X"), 1, ctypes.sizeof(Make))
VERSION = ioctl_request(Direction.READ, ord("X"), 2, ctypes.sizeof(Version))
DROP = ioctl_request(Direction.WRITE, ord("X"), 3, ctypes.sizeof(Make))
RESET = ioctl_request(Direction.NONE, ord("X"), 4, 0)


class Driver(DriverFile):
    """Gives handles away."""

    name = "/dev/x"
    IOCTLS: ClassVar = {
        MAKE: Ioctl(Make, "make", reserved=("pad",)),
        VERSION: Ioctl(Version, "version"),
        DROP: Ioctl(Make, "drop"),
        RESET: Ioctl(None, "reset"),
    }

    def __init__(self) -> None:
        self.made: list[int] = []

    def make(self, argument: Make) -> None:
        self.made.append(argument.nbytes)
        argument.handle = len(self.made)

    def version(self, argument: Version) -> None:
        assert (argument.major, argument.minor) == (0, 0)
        argument.major, argument.minor = 1, 14

    def drop(self, argument: Make) -> int:
        argument.handle += 1
        return 7

    def reset(self, number: int) -> None:
        self.made.clear()


def test_requests_reach_their_methods() -> None:
    driver, make, version = Driver(), Make(4096), Version(9, 9)
    assert driver.ioctl(MAKE, make) == 0
    assert (make.handle, driver.made) == (1, [4096])
    driver.ioctl(VERSION, version)
    assert (version.major, version.minor) == (1, 14)
    driver.ioctl(RESET, 0)
    assert driver.made == []


def test_what_the_caller_only_writes_stays() -> None:
    make = Make(1, 5)
    assert Driver().ioctl(DROP, make) == 7
    assert make.handle == 5


def test_an_address_is_as_good_as_a_structure() -> None:
    make = Make(64)
    assert Driver().ioctl(MAKE, ctypes.addressof(make)) == 0
    assert make.handle == 1


@pytest.mark.parametrize(
    ("number", "argument", "code", "message"),
    [
        (0x1234, 0, errno.ENOTTY, "/dev/x: no request 0x12/0x34 of 0 bytes"),
        (
            ioctl_request(BOTH, ord("X"), 1, 24),
            Make(),
            errno.EINVAL,
            "make with 24 bytes, expected 16",
        ),
        (
            ioctl_request(Direction.WRITE, ord("X"), 2, 8),
            Version(),
            errno.EINVAL,
            "version goes .*READ.*, not .*WRITE",
        ),
        (MAKE, Version(), errno.EINVAL, "make: Version has 8 bytes, Make has 16"),
        (MAKE, Make(0, 0, 1), errno.EINVAL, "make: Make.pad is reserved and must be zero"),
        (MAKE, 0, errno.EFAULT, "make: the argument is null"),
        (MAKE, "x", errno.EFAULT, "make: str is no structure"),
        (RESET, Make(), errno.EFAULT, "reset takes a number"),
    ],
)
def test_other_requests_are_refused(number: int, argument: object, code: int, message: str) -> None:
    with pytest.raises(OSError, match=message) as error:
        Driver().ioctl(number, argument)
    assert error.value.errno == code


def test_a_file_that_can_do_nothing_refuses_everything() -> None:
    file = EmulatedFile()
    for call, code in (
        (lambda: file.ioctl(1, 0), errno.ENOTTY),
        (lambda: file.map(0, 1, 3), errno.ENODEV),
        (lambda: file.read(1), errno.EINVAL),
        (lambda: file.write(b""), errno.EINVAL),
    ):
        with pytest.raises(OSError) as error:
            call()
        assert error.value.errno == code


def test_an_event_counts_and_begins_anew() -> None:
    event = EventFile("irq")
    event.signal()
    event.write((2).to_bytes(8, "little"))
    assert int.from_bytes(event.read(8), "little") == 3
    for call, code in (
        (lambda: event.read(8), errno.EAGAIN),
        (lambda: event.read(4), errno.EINVAL),
        (lambda: event.write(b"123"), errno.EINVAL),
    ):
        with pytest.raises(OSError, match="irq") as error:
            call()
        assert error.value.errno == code
