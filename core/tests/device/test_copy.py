"""Copies between devices, on every path."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tg_core.device import Buffer, copy_buffer
from tg_core.device import copy as copy_module
from tg_core.device.host import HostAllocator
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, ShapeError

DATA = np.arange(100, dtype=np.int32)


class HiddenAllocator(HostAllocator):
    """Memory that the host cannot see."""

    def as_memoryview(self, opaque: object) -> None:  # type: ignore[override]  # hidden on purpose
        return None


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> str:
    """A device whose memory the host cannot see."""
    from tg_core.device import Device

    device = Device["PYTHON:9"]
    monkeypatch.setattr(device, "_allocator", HiddenAllocator(device))
    monkeypatch.setattr(device, "_memory", None)
    return "PYTHON:9"


def test_every_pair_of_devices(hidden: str, tmp_path: Path) -> None:
    devices = ["PYTHON", "PYTHON:1", "NPY", hidden]
    targets = [*devices, f"DISK:{tmp_path}/target"]
    sources = [*devices, f"DISK:{tmp_path}/source"]
    for target_device, source_device in itertools.product(targets, sources):
        (tmp_path / "target").unlink(missing_ok=True)
        source = Buffer(source_device, 100, dtypes.int32).copyin(DATA.tobytes())
        target = Buffer(target_device, 100, dtypes.int32)
        copy_buffer(target, source)
        np.testing.assert_array_equal(
            target.numpy(), DATA, err_msg=f"{source_device} to {target_device}"
        )


def test_hidden_memory_is_copied_in_pieces(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_module, "STAGING_BYTES", 24)
    source = Buffer(hidden, 100, dtypes.int32).copyin(DATA.tobytes())
    target = Buffer(hidden, 100, dtypes.int32)
    copy_buffer(target, source)
    np.testing.assert_array_equal(target.numpy(), DATA)


def test_views_copy_their_part() -> None:
    source = Buffer("PYTHON", 100, dtypes.int32).copyin(DATA.tobytes())
    target = Buffer("NPY", 4, dtypes.int32).copyin(bytes(16))
    copy_buffer(target.view(2, dtypes.int32, 4), source.view(2, dtypes.int32, 40))
    assert target.numpy().tolist() == [0, 10, 11, 0]


def test_read_only_memory_is_a_source_and_no_target() -> None:
    frozen = np.frombuffer(b"abcd", np.uint8)
    source = Buffer("NPY", 4, dtypes.uint8, opaque=frozen)
    target = Buffer("PYTHON", 4, dtypes.uint8)
    copy_buffer(target, source)
    assert target.numpy().tobytes() == b"abcd"
    with pytest.raises(DeviceError, match="NPY: the memory is read-only"):
        copy_buffer(source, target)


def test_nothing_to_copy() -> None:
    copy_buffer(Buffer("PYTHON", 0, dtypes.int32), Buffer("NPY", 0, dtypes.int8))


def test_sizes_differ() -> None:
    with pytest.raises(ShapeError, match="copy from NPY to PYTHON"):
        copy_buffer(Buffer("PYTHON", 4, dtypes.int32), Buffer("NPY", 4, dtypes.int64))


def test_source_without_memory() -> None:
    with pytest.raises(DeviceError, match="not allocated"):
        copy_buffer(Buffer("PYTHON", 4, dtypes.int32), Buffer("NPY", 4, dtypes.int32))
