"""DISK: a file as a device. `DISK:/path/of/file` names it; offsets are offsets in the file."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field

from tg_core.device.api import Allocator, BufferOptions, Compiled, OpenRequest
from tg_core.errors import DeviceError, FileFormatError

__all__ = ["DiskAllocator", "DiskDevice", "FileRange"]


@dataclass(frozen=True)
class FileRange:
    """Bytes of the file of a device."""

    offset: int
    nbytes: int


@dataclass
class _Mapping:
    """The file, mapped for reading, as it was at some size."""

    size: int
    view: memoryview = field(repr=False)


class DiskDevice(Compiled):
    """One file. Opening the device does not touch it: it may be about to be written.

    Raises:
        DeviceError: the device name has no path.
    """

    def __init__(self, request: OpenRequest) -> None:
        super().__init__(request)
        if not self.location:
            raise DeviceError(f"{self.name}: no file named; expected DISK:/path/of/file")
        self.path = self.location
        self._mapping: _Mapping | None = None

    def read_into(self, data: memoryview, offset: int) -> None:
        """Read bytes of the file.

        Raises:
            DeviceError: the file cannot be read.
            FileFormatError: the file ends before.
        """
        with _Described(self, "read"), open(self.path, "rb", buffering=0) as file:
            done = 0
            while done < data.nbytes:
                # preadv fills the destination itself: no copy through Python's memory.
                count = os.preadv(file.fileno(), [data[done:]], offset + done)
                if count == 0:
                    raise self._too_short(offset + data.nbytes, offset + done)
                done += count

    def write(self, data: memoryview, offset: int) -> None:
        """Write bytes of the file, creating it or making it longer as needed.

        Raises:
            DeviceError: the file cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        with _Described(self, "write"):
            descriptor = os.open(self.path, flags, 0o666)
            try:
                done = 0
                while done < data.nbytes:
                    done += os.pwrite(descriptor, data[done:], offset + done)
            finally:
                os.close(descriptor)

    def map(self, offset: int, nbytes: int) -> memoryview:
        """Return bytes of the file without copying, for reading.

        Raises:
            DeviceError: the file cannot be read.
            FileFormatError: the file ends before.
        """
        end = offset + nbytes
        with _Described(self, "read"), open(self.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if end > size:
                raise self._too_short(end, size)
            if self._mapping is None or self._mapping.size != size:
                mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
                self._mapping = _Mapping(size, memoryview(mapped))
            return self._mapping.view[offset:end]

    def _too_short(self, wanted: int, size: int) -> FileFormatError:
        return FileFormatError(
            f"{self.name}: bytes up to offset {wanted} wanted, the file ends at offset {size}"
        )


class DiskAllocator(Allocator):
    """Ranges of the device's file. Views are ranges too; nothing is allocated."""

    device: DiskDevice

    def alloc(self, nbytes: int, options: BufferOptions) -> FileRange:
        return FileRange(0, nbytes)

    def offset(self, opaque: FileRange, nbytes: int, offset: int) -> FileRange:
        return FileRange(opaque.offset + offset, nbytes)

    def copyin(self, opaque: FileRange, data: memoryview) -> None:
        self.device.write(data, opaque.offset)

    def copyout(self, data: memoryview, opaque: FileRange) -> None:
        self.device.read_into(data, opaque.offset)

    def as_memoryview(self, opaque: FileRange) -> memoryview:
        return self.device.map(opaque.offset, opaque.nbytes)


class _Described:
    """Turns an error of the operating system into one that names the device and says what to do."""

    def __init__(self, device: DiskDevice, action: str) -> None:
        self._device = device
        self._action = action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise DeviceError(
                f"{self._device.name}: cannot {self._action} the file: {reason}"
            ) from error
