"""Reading a file whose contents are not trusted."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from tg_core.errors import FileFormatError

__all__ = ["BoundedFile", "format_error", "open_bounded"]


def format_error(path: str, offset: int, message: str) -> FileFormatError:
    """Return the error for a malformed file; it names the file and the offset in it."""
    return FileFormatError(f"{path}: offset {offset}: {message}")


class BoundedFile:
    """A file that never reserves more memory for a read than the file has bytes left.

    A buffered file reserves what it is asked for before it looks at what there is.

    Args:
        file: a seekable binary file, at its start.
        size: its size in bytes.
        path: its name, for errors.
        base: what is added to positions in errors.
    """

    def __init__(self, file: BinaryIO, size: int, path: str, base: int = 0) -> None:
        self.file = file
        self.size = size
        self.path = path
        self.base = base

    def error(self, offset: int, message: str) -> FileFormatError:
        """Return the error for something malformed at a position."""
        return format_error(self.path, self.base + offset, message)

    def tell(self) -> int:
        """Return the position."""
        return self.file.tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        return self.file.seek(offset, whence)

    def seekable(self) -> bool:
        """Tell that positions can be set."""
        return True

    def left(self) -> int:
        """Return the number of bytes from the position to the end."""
        return max(self.size - self.file.tell(), 0)

    def read(self, count: int = -1) -> bytes:
        """Return up to `count` bytes; all that are left where it is negative."""
        left = self.left()
        return self.file.read(left if count < 0 else min(count, left))

    def readline(self) -> bytes:
        """Return the bytes up to the end of the line or of the file."""
        return self.file.readline(self.left())

    def take(self, count: int, what: str) -> bytes:
        """Return `count` bytes.

        Raises:
            FileFormatError: the file ends before.
        """
        at = self.tell()
        if count > self.left():
            raise self.error(
                at, f"{what} takes {count} bytes, found {self.left()}: the file is truncated"
            )
        data = self.file.read(count)
        if len(data) != count:
            raise self.error(at, f"the file ends inside {what}")
        return data

    def unpack(self, layout: str, what: str) -> tuple[Any, ...]:
        """Return numbers in the layout of `struct`.

        Raises:
            FileFormatError: the file ends before.
        """
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))


@contextmanager
def open_bounded(path: str | os.PathLike[str]) -> Iterator[BoundedFile]:
    """Open a file for reading.

    Raises:
        FileFormatError: it cannot be read.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            yield BoundedFile(file, os.fstat(file.fileno()).st_size, name)
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read: {error.strerror or error}") from error
