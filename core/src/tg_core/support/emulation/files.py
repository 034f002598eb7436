"""What is behind a descriptor of an emulated system."""

from __future__ import annotations

import ctypes
import errno
import os
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tg_core.support.ioctl import Direction, split_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.support.emulation.memory import Bytes
    from tg_core.support.emulation.registers import RegisterFile

__all__ = ["DriverFile", "EmulatedFile", "EventFile", "Ioctl", "refuse"]


def refuse(number: int, what: str) -> OSError:
    """Return the error of a system call, as the kernel would have it, with the reason."""
    return OSError(number, f"{os.strerror(number)}: {what}")


class EmulatedFile:
    """An open file. Each kind says what it can do; the rest is refused as the kernel does."""

    name: str = "file"
    writable: bool = True
    """Whether it was opened for writing; set by the system."""

    def ioctl(self, request: int, argument: Any) -> int:
        """Answer a request."""
        raise refuse(errno.ENOTTY, f"{self.name} takes no ioctl {request:#x}")

    def map(self, offset: int, nbytes: int, protection: int) -> Bytes | RegisterFile:
        """Return the memory or the registers that a mapping shows."""
        raise refuse(errno.ENODEV, f"{self.name} cannot be mapped")

    def unmapped(self, offset: int, nbytes: int) -> None:
        """Take note that a mapping is gone."""

    def read(self, nbytes: int) -> bytes:
        """Return bytes."""
        raise refuse(errno.EINVAL, f"{self.name} cannot be read")

    def write(self, data: bytes) -> int:
        """Take bytes."""
        raise refuse(errno.EINVAL, f"{self.name} cannot be written")

    def ready(self) -> int:
        """Return what `poll` would find, `select.POLLIN` and the like."""
        return 0

    def close(self) -> None:
        """Take note that the last descriptor is closed."""


class EventFile(EmulatedFile):
    """A counter that interrupts add to, and that wakes whoever polls for it.

    Source: Linux, eventfd(2).
    """

    _MOST: ClassVar[int] = (1 << 64) - 2

    def __init__(self, name: str = "event") -> None:
        self.name = name
        self.count = 0

    def signal(self, times: int = 1) -> None:
        """Add to the counter: an interrupt has come."""
        self.count = min(self.count + times, self._MOST)

    def read(self, nbytes: int) -> bytes:
        if nbytes < 8:
            raise refuse(errno.EINVAL, f"{self.name}: read of {nbytes} bytes, expected 8")
        if not self.count:
            raise refuse(errno.EAGAIN, f"{self.name}: nothing has happened")
        count, self.count = self.count, 0
        return count.to_bytes(8, "little")

    def write(self, data: bytes) -> int:
        if len(data) != 8:
            raise refuse(errno.EINVAL, f"{self.name}: write of {len(data)} bytes, expected 8")
        times = int.from_bytes(data, "little")
        if times > self._MOST:
            raise refuse(errno.EINVAL, f"{self.name}: write of {times:#x}, more than it counts")
        self.signal(times)
        return 8

    def ready(self) -> int:
        return select.POLLOUT | (select.POLLIN if self.count else 0)


@dataclass(frozen=True)
class Ioctl:
    """A request that a driver knows."""

    layout: type[Any] | None
    """The `ctypes.Structure` of its argument; None where it takes a number."""
    method: str
    """The method of the file that answers; it gets the argument."""
    reserved: tuple[str, ...] = ()
    """Fields that must be zero."""


class DriverFile(EmulatedFile):
    """A device node: it answers the requests of a table, and refuses all others.

    The argument is checked before the method sees it: its length, and the fields that must be
    zero. What the caller only reads arrives as zeros, what the caller only writes stays unchanged.
    """

    IOCTLS: ClassVar[Mapping[int, Ioctl]] = {}
    """By the number of the request."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for request, entry in cls.IOCTLS.items():
            nbytes = 0 if entry.layout is None else ctypes.sizeof(entry.layout)
            if split_request(request).nbytes != nbytes:
                raise ValueError(
                    f"{cls.__name__}: {entry.method} has an argument of {nbytes} bytes, its "
                    f"request says {split_request(request).nbytes}"
                )

    def ioctl(self, request: int, argument: Any) -> int:
        entry = self.IOCTLS.get(request)
        if entry is None:
            raise self._unknown(request)
        answer = getattr(self, entry.method)
        if entry.layout is None:
            if not isinstance(argument, int):
                raise refuse(errno.EFAULT, f"{self.name}: {entry.method} takes a number")
            return int(answer(argument) or 0)
        given = self._argument(entry, argument)
        direction = split_request(request).direction
        own = entry.layout()
        if direction & Direction.WRITE:
            ctypes.memmove(ctypes.addressof(own), ctypes.addressof(given), ctypes.sizeof(own))
            for field in entry.reserved:
                if _is_set(getattr(own, field)):
                    raise refuse(
                        errno.EINVAL,
                        f"{self.name}: {entry.method}: {entry.layout.__name__}.{field} is reserved "
                        "and must be zero",
                    )
        result = int(answer(own) or 0)
        if direction & Direction.READ:
            ctypes.memmove(ctypes.addressof(given), ctypes.addressof(own), ctypes.sizeof(own))
        return result

    def _argument(self, entry: Ioctl, argument: Any) -> Any:
        assert entry.layout is not None
        wanted = ctypes.sizeof(entry.layout)
        what = f"{self.name}: {entry.method}"
        if isinstance(argument, int):
            if argument == 0:
                raise refuse(errno.EFAULT, f"{what}: the argument is null")
            return entry.layout.from_address(argument)
        if not isinstance(argument, ctypes.Structure | ctypes.Union | ctypes.Array):
            raise refuse(errno.EFAULT, f"{what}: {type(argument).__name__} is no structure")
        if ctypes.sizeof(argument) != wanted:
            raise refuse(
                errno.EINVAL,
                f"{what}: {type(argument).__name__} has {ctypes.sizeof(argument)} bytes, "
                f"{entry.layout.__name__} has {wanted}",
            )
        return argument

    def _unknown(self, request: int) -> OSError:
        parts = split_request(request)
        for known, entry in self.IOCTLS.items():
            other = split_request(known)
            if (other.kind, other.number) != (parts.kind, parts.number):
                continue
            if other.nbytes != parts.nbytes:
                return refuse(
                    errno.EINVAL,
                    f"{self.name}: {entry.method} with {parts.nbytes} bytes, expected "
                    f"{other.nbytes}",
                )
            return refuse(
                errno.EINVAL,
                f"{self.name}: {entry.method} goes {other.direction!r}, not {parts.direction!r}",
            )
        return refuse(
            errno.ENOTTY,
            f"{self.name}: no request {parts.kind:#x}/{parts.number:#x} of {parts.nbytes} bytes",
        )


def _is_set(value: Any) -> bool:
    if isinstance(value, ctypes.Array | ctypes.Structure | ctypes.Union):
        return any(bytes(value))
    return bool(value)
