"""An operating system with emulated drivers, behind the port that real ones are reached through."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg_core.support.emulation.files import EmulatedFile, EventFile, refuse
from tg_core.support.emulation.mapped import Mapped, MappedRanges
from tg_core.support.emulation.registers import RegisterFile, RegisterView
from tg_core.support.mmio import MMIOView
from tg_core.support.os_port import LinuxPort, OSPort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_core.support.emulation.machine import Machine
    from tg_core.support.mmio import Form, WordView

__all__ = ["EmulatedSystem"]

_FIRST_DESCRIPTOR: Final = 1 << 20
"""Above what a process has, so that a real descriptor is never taken for an emulated one."""

_REST_SECONDS: Final = 1e-3

_FIXED: Final = 0x10
"""`MAP_FIXED`, which the module `mmap` does not name.

Source: Linux, include/uapi/asm-generic/mman-common.h.
"""


@dataclass
class _Open:
    file: EmulatedFile
    flags: int

    @property
    def mode(self) -> int:
        return self.flags & os.O_ACCMODE


class EmulatedSystem(OSPort):
    """Device nodes and files of emulated drivers, and nothing else.

    It is strict: an unknown descriptor, request or file, a structure of the wrong length, a missing
    right, a mapping that is not undone as it was made are errors, with the number that the kernel
    would give and the reason in words.

    Waiting is a yield point: `poll` lets the machine advance until something has happened, and at
    least by one turn where nothing has, however short the time.

    Args:
        machine: whose queues advance while somebody polls; None if there are none.
    """

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine
        self._nodes: dict[str, Callable[[], EmulatedFile]] = {}
        self._texts: dict[str, Callable[[], bytes]] = {}
        self._open: dict[int, _Open] = {}
        self._next = _FIRST_DESCRIPTOR
        self._mapped = MappedRanges()
        self._real = LinuxPort()
        self._lock = machine.lock if machine is not None else threading.RLock()

    def add_node(self, path: str, opened: Callable[[], EmulatedFile]) -> None:
        """Add a device node.

        Args:
            path: where.
            opened: returns the file of each opening.
        """
        self._nodes[path] = opened

    def add_file(self, path: str, content: str | bytes | Callable[[], str | bytes]) -> None:
        """Add a file that can be read, for sysfs.

        Args:
            path: where.
            content: or a function that returns it at each reading.
        """

        def data() -> bytes:
            found = content() if callable(content) else content
            return found.encode() if isinstance(found, str) else found

        self._texts[path] = data

    def leaks(self) -> list[str]:
        """Return what is open or mapped, for tests that everything was given back."""
        names = [f"descriptor {fd} of {o.file.name}" for fd, o in self._open.items()]
        for mapping in self._mapped.all():
            what = mapping.file.name if mapping.file is not None else "anonymous memory"
            names.append(f"mapping of {what}, {mapping.nbytes} bytes at {mapping.start:#x}")
        return names

    def open(self, path: str, flags: int = os.O_RDWR) -> int:
        with self._lock:
            make = self._nodes.get(path)
            if make is None:
                if path in self._texts:
                    raise refuse(errno.EACCES, f"{path} is no device node, use read_file")
                raise refuse(errno.ENOENT, path)
            file = make()
            file.writable = flags & os.O_ACCMODE != os.O_RDONLY
            return self._descriptor(file, flags)

    def _descriptor(self, file: EmulatedFile, flags: int) -> int:
        self._next += 1
        self._open[self._next] = _Open(file, flags)
        return self._next

    def event(self) -> int:
        with self._lock:
            return self._descriptor(EventFile(), os.O_RDWR)

    def file(self, fd: int) -> EmulatedFile:
        """Return what is behind a descriptor: drivers get each other's by number.

        Raises:
            OSError: EBADF, it is not open.
        """
        return self._of(fd).file

    def _of(self, fd: int) -> _Open:
        found = self._open.get(fd)
        if found is None:
            raise refuse(errno.EBADF, f"descriptor {fd}")
        return found

    def close(self, fd: int) -> None:
        with self._lock:
            found = self._of(fd)
            del self._open[fd]
            if not any(other.file is found.file for other in self._open.values()):
                found.file.close()

    def ioctl(self, fd: int, request: int, argument: Any = 0) -> int:
        with self._lock:
            return self._of(fd).file.ioctl(request, argument)

    def mmap(
        self,
        nbytes: int,
        protection: int = mmap.PROT_READ | mmap.PROT_WRITE,
        flags: int = mmap.MAP_SHARED,
        fd: int = -1,
        offset: int = 0,
        address: int = 0,
    ) -> int:
        with self._lock:
            self._check_mapping(nbytes, flags, offset, address)
            if flags & mmap.MAP_ANONYMOUS:
                if fd != -1:
                    raise refuse(errno.EINVAL, f"anonymous memory of descriptor {fd}")
                start = self._real.mmap(nbytes, protection, flags, -1, 0, address)
                self._mapped.add(Mapped(start, nbytes, protection))
                return start
            return self._map_file(nbytes, protection, flags, fd, offset, address)

    def _check_mapping(self, nbytes: int, flags: int, offset: int, address: int) -> None:
        if nbytes <= 0:
            raise refuse(errno.EINVAL, f"mmap of {nbytes} bytes")
        if offset % mmap.PAGESIZE:
            raise refuse(errno.EINVAL, f"mmap at offset {offset:#x}, not a multiple of a page")
        if address % mmap.PAGESIZE and flags & _FIXED:
            raise refuse(errno.EINVAL, f"mmap at {address:#x}, not a multiple of a page")
        if bool(flags & mmap.MAP_SHARED) == bool(flags & mmap.MAP_PRIVATE):
            raise refuse(errno.EINVAL, "mmap is either shared or private")

    def _map_file(
        self, nbytes: int, protection: int, flags: int, fd: int, offset: int, address: int
    ) -> int:
        opened = self._of(fd)
        file, shared = opened.file, flags & mmap.MAP_SHARED
        if protection & mmap.PROT_READ and opened.mode == os.O_WRONLY:
            raise refuse(errno.EACCES, f"{file.name} is open for writing only")
        if protection & mmap.PROT_WRITE and shared and opened.mode == os.O_RDONLY:
            raise refuse(errno.EACCES, f"{file.name} is open for reading only")
        behind = file.map(offset, nbytes, protection)
        if isinstance(behind, RegisterFile):
            # an address that nothing else has, at which a stray access does not go unseen
            room = nbytes + -nbytes % mmap.PAGESIZE
            start = self._real.mmap(room, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            start = int(behind.ctypes.data)
            if behind.nbytes < nbytes:
                raise refuse(errno.EINVAL, f"{file.name} has {behind.nbytes} bytes at {offset:#x}")
        if flags & _FIXED and start != address:
            raise refuse(
                errno.EINVAL, f"{file.name} has its memory at {start:#x}, not at {address:#x}"
            )
        registers = behind if isinstance(behind, RegisterFile) else None
        self._mapped.add(Mapped(start, nbytes, protection, offset, file, registers, behind))
        return start

    def munmap(self, address: int, nbytes: int) -> None:
        with self._lock:
            found = self._mapped.take(address, nbytes)
            if not found:
                raise refuse(
                    errno.EINVAL, f"munmap of {nbytes} bytes at {address:#x} fits no mapping"
                )
            for mapping in found:
                self._unmapped(mapping)

    def _unmapped(self, mapping: Mapped) -> None:
        if mapping.file is None:
            self._real.munmap(mapping.start, mapping.nbytes)
            return
        if mapping.registers is not None:
            room = mapping.nbytes + -mapping.nbytes % mmap.PAGESIZE
            self._real.munmap(mapping.start, room)
        mapping.file.unmapped(mapping.offset, mapping.nbytes)

    def poll(self, events: Mapping[int, int], seconds: float) -> dict[int, int]:
        end = time.monotonic() + seconds
        while True:
            found = self._ready(events)
            if found:
                return found
            moved = self._machine is not None and self._machine.advance()
            if time.monotonic() >= end:
                return self._ready(events)
            if not moved:
                time.sleep(min(_REST_SECONDS, max(end - time.monotonic(), 0)))

    def _ready(self, events: Mapping[int, int]) -> dict[int, int]:
        with self._lock:
            ready = {fd: self._of(fd).file.ready() & wanted for fd, wanted in events.items()}
        return {fd: what for fd, what in ready.items() if what}

    def read(self, fd: int, nbytes: int) -> bytes:
        with self._lock:
            opened = self._of(fd)
            if opened.mode == os.O_WRONLY:
                raise refuse(errno.EBADF, f"{opened.file.name} is open for writing only")
            return opened.file.read(nbytes)

    def write(self, fd: int, data: bytes) -> int:
        with self._lock:
            opened = self._of(fd)
            if opened.mode == os.O_RDONLY:
                raise refuse(errno.EBADF, f"{opened.file.name} is open for reading only")
            return opened.file.write(data)

    def read_file(self, path: str) -> bytes:
        found = self._texts.get(path)
        if found is None:
            is_folder = any(name.startswith(path.rstrip("/") + "/") for name in self._names())
            raise refuse(errno.EISDIR if is_folder else errno.ENOENT, path)
        return found()

    def _names(self) -> list[str]:
        return [*self._texts, *self._nodes]

    def listdir(self, path: str) -> list[str]:
        head = path.rstrip("/") + "/"
        found = {n[len(head) :].split("/")[0] for n in self._names() if n.startswith(head)}
        if not found:
            raise refuse(errno.ENOTDIR if path in self._names() else errno.ENOENT, path)
        return sorted(found)

    def words(self, address: int, nbytes: int, form: Form = "I") -> WordView:
        mapping = self._covering(address, nbytes)
        if mapping.registers is not None:
            return RegisterView(mapping.registers, address - mapping.start, nbytes, form)
        return MMIOView(self._cells(mapping, address, nbytes), form)

    def memory(self, address: int, nbytes: int) -> memoryview:
        mapping = self._covering(address, nbytes)
        if mapping.registers is not None:
            name = mapping.registers.name
            raise refuse(errno.EACCES, f"registers of {name} are accessed as words alone")
        return self._cells(mapping, address, nbytes)

    def _covering(self, address: int, nbytes: int) -> Mapped:
        with self._lock:
            found = self._mapped.covering(address, nbytes)
        if found is None:
            raise refuse(errno.EFAULT, f"{nbytes} bytes at {address:#x} are not mapped")
        return found

    def _cells(self, mapping: Mapped, address: int, nbytes: int) -> memoryview:
        if not mapping.protection & mmap.PROT_READ:
            raise refuse(errno.EACCES, f"memory at {address:#x} is not mapped for reading")
        offset = address - mapping.start
        if mapping.kept is None:
            cells = memoryview((ctypes.c_uint8 * nbytes).from_address(address)).cast("B")
        else:
            cells = np.asarray(mapping.kept)[offset : offset + nbytes].data
        return cells if mapping.protection & mmap.PROT_WRITE else cells.toreadonly()

    def c_functions(self) -> dict[str, Any]:
        """Return `ioctl` for compiled host programs, which call it by its address. What it refuses
        returns -1, and is kept in `refused`.
        """
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p)

        def ioctl(fd: int, request: int, argument: int | None) -> int:
            try:
                return self.ioctl(fd, request, argument or 0)
            except Exception as error:  # nothing may pass through the C code that called
                self.refused = error
                return -1

        return {"ioctl": kind(ioctl)}

    refused: Exception | None = None
    """Why the last call out of a host program failed."""
