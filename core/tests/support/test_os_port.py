"""The kernel of this machine, asked for what it has everywhere."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import select
import termios
from pathlib import Path

import pytest

from tg_core.support.os_port import LinuxPort

PORT = LinuxPort()
ANONYMOUS = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS


def test_files_are_opened_read_written_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"text\n")
    fd = PORT.open(str(path))
    assert PORT.read(fd, 4) == b"text"
    assert PORT.write(fd, b"!!") == 2
    PORT.close(fd)
    assert PORT.read_file(str(path)) == b"text!!"
    assert PORT.read_text(str(path)) == "text!!"
    assert PORT.listdir(str(tmp_path)) == ["a"]
    with pytest.raises(OSError) as error:
        PORT.read(fd, 1)
    assert error.value.errno == errno.EBADF


def test_a_driver_fills_in_the_argument_of_an_ioctl() -> None:
    reading, writing = os.pipe()
    try:
        PORT.write(writing, b"12345")
        count = ctypes.c_int(0)
        assert PORT.ioctl(reading, termios.FIONREAD, count) == 0
        assert count.value == 5
    finally:
        PORT.close(reading)
        PORT.close(writing)


def test_memory_is_mapped_and_shared_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_bytes(bytes(2 * mmap.PAGESIZE))
    fd = PORT.open(str(path))
    start = PORT.mmap(mmap.PAGESIZE, fd=fd, offset=mmap.PAGESIZE)
    PORT.close(fd)
    words = PORT.words(start, 16, "I")
    words[1] = 0x01020304
    PORT.memory(start + 8, 2)[:] = b"ab"
    PORT.munmap(start, mmap.PAGESIZE)
    assert path.read_bytes()[mmap.PAGESIZE + 4 :][:6] == b"\4\3\2\1ab"


def test_memory_goes_where_it_is_wanted() -> None:
    start = PORT.mmap(2 * mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    fixed = ANONYMOUS | 0x10
    assert PORT.mmap(mmap.PAGESIZE, flags=fixed, address=start) == start
    PORT.munmap(start, 2 * mmap.PAGESIZE)
    with pytest.raises(OSError, match="mmap of 0 bytes") as error:
        PORT.mmap(0, flags=ANONYMOUS)
    assert error.value.errno == errno.EINVAL
    with pytest.raises(OSError, match="munmap at 0x1") as error:
        PORT.munmap(1, mmap.PAGESIZE)
    assert error.value.errno == errno.EINVAL


def test_an_event_wakes_who_polls() -> None:
    fd = PORT.event()
    try:
        assert PORT.poll({fd: select.POLLIN}, 0) == {}
        PORT.write(fd, (3).to_bytes(8, "little"))
        PORT.write(fd, (4).to_bytes(8, "little"))
        assert PORT.poll({fd: select.POLLIN}, 1) == {fd: select.POLLIN}
        assert int.from_bytes(PORT.read(fd, 8), "little") == 7
        with pytest.raises(BlockingIOError):
            PORT.read(fd, 8)
    finally:
        PORT.close(fd)
