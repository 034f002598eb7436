"""Files as devices."""

from __future__ import annotations

import errno
import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from tg_core.device import Buffer, Device, GlobalCounters
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, FileFormatError


def file_buffer(path: Path, size: int) -> Buffer:
    return Buffer(f"DISK:{path}", size, dtypes.uint8).allocate()


def test_read_and_map(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(range(100)))
    buffer = file_buffer(path, 100)
    assert buffer.numpy().tolist() == list(range(100))
    view = buffer.view(3, dtypes.uint16, 10)
    assert view.as_memoryview().tobytes() == bytes(range(10, 16))
    assert view.as_memoryview().readonly


def test_write_creates_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new.bin"
    buffer = Buffer(f"DISK:{path}", 3, dtypes.int32)
    assert not path.exists()
    buffer.copyin(np.array([1, 2, 3], np.int32).tobytes())
    assert path.read_bytes() == np.array([1, 2, 3], np.int32).tobytes()


def test_write_a_part(tmp_path: Path) -> None:
    path = tmp_path / "part.bin"
    path.write_bytes(b"........")
    file_buffer(path, 8).view(2, dtypes.uint8, 3).copyin(b"ab")
    assert path.read_bytes() == b"...ab..."


def test_written_bytes_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "again.bin"
    path.write_bytes(b"aaaa")
    buffer = file_buffer(path, 4)
    assert bytes(buffer.as_memoryview()) == b"aaaa"
    buffer.copyin(b"bbbb")
    assert bytes(buffer.as_memoryview()) == b"bbbb"
    longer = file_buffer(path, 8)
    longer.copyin(b"cccccccc")
    assert bytes(longer.as_memoryview()) == b"cccccccc"


def test_opening_does_not_touch_the_file(tmp_path: Path) -> None:
    file_buffer(tmp_path / "untouched", 4)
    assert list(tmp_path.iterdir()) == []


def test_missing_file(tmp_path: Path) -> None:
    buffer = file_buffer(tmp_path / "missing", 4)
    with pytest.raises(DeviceError, match=r"DISK:.*missing: cannot read the file: No such file"):
        buffer.numpy()
    with pytest.raises(DeviceError, match="No such file"):
        buffer.as_memoryview()


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot read the file: Is a directory"):
        file_buffer(tmp_path, 4).numpy()
    with pytest.raises(DeviceError, match="cannot write the file: Is a directory"):
        file_buffer(tmp_path, 4).copyin(b"abcd")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    # The superuser may read everything, so the refusal of the system is played.
    monkeypatch.setattr("tg_core.device.disk.open", refuse, raising=False)
    with pytest.raises(DeviceError, match="cannot read the file: Permission denied"):
        file_buffer(tmp_path / "secret", 4).numpy()


def test_past_the_end(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"abcd")
    buffer = file_buffer(path, 10)
    with pytest.raises(FileFormatError, match="offset 10 wanted, the file ends at offset 4"):
        buffer.numpy()
    with pytest.raises(FileFormatError, match="offset 10 wanted, the file ends at offset 4"):
        buffer.as_memoryview()


def test_file_that_shrank_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "shrinks"
    path.write_bytes(b"abcdefgh")
    buffer = file_buffer(path, 8)
    buffer.as_memoryview()
    path.write_bytes(b"ab")
    with pytest.raises(FileFormatError, match="ends at offset 2"):
        buffer.as_memoryview()


def test_device_without_a_path() -> None:
    with pytest.raises(DeviceError, match="no file named"):
        _ = Device["DISK"]


def test_a_path_may_contain_anything(tmp_path: Path) -> None:
    path = tmp_path / "a b:c;d+e"
    file_buffer(path, 2).copyin(b"ok")
    assert path.read_bytes() == b"ok"


def test_a_file_nobody_reads_any_more_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"abcd")
    buffer = file_buffer(path, 4)
    device = weakref.ref(buffer.compiled)
    view = buffer.as_memoryview()
    same = file_buffer(path, 2).compiled is device()
    assert same
    del buffer
    gc.collect()
    assert bytes(view) == b"abcd"
    del view
    gc.collect()
    assert device() is None


def test_files_are_not_counted_as_memory(tmp_path: Path) -> None:
    before = GlobalCounters.mem_used
    buffer = file_buffer(tmp_path / "huge", 1 << 40)
    assert GlobalCounters.mem_used == before
    del buffer
    assert GlobalCounters.mem_used == before
