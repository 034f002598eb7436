"""The narrow door to the operating system that drivers go through.

A backend's interface is written against `OSPort` alone. `LinuxPort` is the kernel of this machine;
an emulated interface puts an `EmulatedSystem` in its place, and the same code of the backend runs.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import select
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from tg_core.support.mmio import MMIOView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.support.mmio import Form, WordView

__all__ = ["LinuxPort", "OSPort"]

_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class OSPort(ABC):
    """What drivers ask of the operating system. Errors are `OSError` with the kernel's number."""

    @abstractmethod
    def open(self, path: str, flags: int = os.O_RDWR) -> int:
        """Open a device node or file; returns its descriptor."""

    @abstractmethod
    def close(self, fd: int) -> None:
        """Close a descriptor. Mappings of it stay."""

    @abstractmethod
    def ioctl(self, fd: int, request: int, argument: Any = 0) -> int:
        """Ask a driver.

        Args:
            fd: of its node.
            request: the number, with direction and size as the kernel encodes them.
            argument: a `ctypes.Structure`, changed in place, or a number.
        """

    @abstractmethod
    def mmap(
        self,
        nbytes: int,
        protection: int = mmap.PROT_READ | mmap.PROT_WRITE,
        flags: int = mmap.MAP_SHARED,
        fd: int = -1,
        offset: int = 0,
        address: int = 0,
    ) -> int:
        """Map memory; returns its address in this process.

        Args:
            nbytes: how much.
            protection: `mmap.PROT_...`.
            flags: `mmap.MAP_...`, with `MAP_ANONYMOUS` where there is no descriptor.
            fd: whose memory.
            offset: bytes into it.
            address: where it is wanted; obeyed with `MAP_FIXED`.
        """

    @abstractmethod
    def munmap(self, address: int, nbytes: int) -> None:
        """Undo `mmap`."""

    @abstractmethod
    def poll(self, events: Mapping[int, int], seconds: float) -> dict[int, int]:
        """Wait until descriptors are ready.

        Args:
            events: what is waited for, `select.POLLIN` and the like, by descriptor.
            seconds: at most this long.

        Returns:
            What has happened, by descriptor; nothing if the time is over.
        """

    @abstractmethod
    def event(self) -> int:
        """Return a descriptor that counts: written numbers add up, reading returns the sum, eight
        bytes, and begins anew.
        """

    @abstractmethod
    def read(self, fd: int, nbytes: int) -> bytes:
        """Read from a descriptor."""

    @abstractmethod
    def write(self, fd: int, data: bytes) -> int:
        """Write to a descriptor; returns how many bytes."""

    @abstractmethod
    def read_file(self, path: str) -> bytes:
        """Return the content of a file, of sysfs for example."""

    @abstractmethod
    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder, in order."""

    @abstractmethod
    def words(self, address: int, nbytes: int, form: Form = "I") -> WordView:
        """Return mapped memory as words. Registers are accessed through this and nothing else."""

    @abstractmethod
    def memory(self, address: int, nbytes: int) -> memoryview:
        """Return mapped memory as bytes, to be copied from and to. Not for registers."""

    def read_text(self, path: str) -> str:
        """Return the text of a file without the end of its last line."""
        return self.read_file(path).decode().rstrip("\n")


class LinuxPort(OSPort):
    """The kernel of this machine."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_long,
        )
        self._libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)

    def open(self, path: str, flags: int = os.O_RDWR) -> int:
        return os.open(path, flags | os.O_CLOEXEC)

    def close(self, fd: int) -> None:
        os.close(fd)

    def ioctl(self, fd: int, request: int, argument: Any = 0) -> int:
        while True:
            try:
                # drivers give up a call when a signal arrives, and are to be asked again
                result: int = fcntl.ioctl(fd, request, argument)
                return result
            except (InterruptedError, BlockingIOError):
                continue

    def mmap(
        self,
        nbytes: int,
        protection: int = mmap.PROT_READ | mmap.PROT_WRITE,
        flags: int = mmap.MAP_SHARED,
        fd: int = -1,
        offset: int = 0,
        address: int = 0,
    ) -> int:
        found = self._libc.mmap(address or None, nbytes, protection, flags, fd, offset)
        if found is None or found == _MAP_FAILED:
            number = ctypes.get_errno()
            raise OSError(
                number, f"mmap of {nbytes} bytes of descriptor {fd}: {os.strerror(number)}"
            )
        return int(found)

    def munmap(self, address: int, nbytes: int) -> None:
        if self._libc.munmap(address, nbytes):
            number = ctypes.get_errno()
            raise OSError(number, f"{os.strerror(number)}: munmap at {address:#x}")

    def poll(self, events: Mapping[int, int], seconds: float) -> dict[int, int]:
        waiting = select.poll()
        for fd, wanted in events.items():
            waiting.register(fd, wanted)
        return dict(waiting.poll(max(seconds, 0) * 1e3))

    def event(self) -> int:
        return os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def read(self, fd: int, nbytes: int) -> bytes:
        return os.read(fd, nbytes)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def listdir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def words(self, address: int, nbytes: int, form: Form = "I") -> WordView:
        return MMIOView.at(address, nbytes, form)

    def memory(self, address: int, nbytes: int) -> memoryview:
        return memoryview((ctypes.c_uint8 * nbytes).from_address(address)).cast("B")
