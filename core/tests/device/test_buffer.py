"""Buffers and views."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

from tg_core.device import Buffer, Device, GlobalCounters
from tg_core.device.api import BufferOptions
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, DTypeError, OutOfMemory, ShapeError

HOSTS = ["PYTHON", "NPY"]


@pytest.mark.parametrize("device", HOSTS)
def test_round_trip(device: str) -> None:
    data = np.arange(6, dtype=np.float32)
    buffer = Buffer(device, 6, dtypes.float32)
    assert not buffer.is_allocated()
    buffer.copyin(data.data.cast("B"))
    assert buffer.is_allocated()
    assert buffer.nbytes == 24
    assert bytes(buffer.copyout(bytearray(24))) == data.tobytes()
    assert bytes(buffer.as_memoryview()) == data.tobytes()
    np.testing.assert_array_equal(buffer.numpy(), data)


def test_views_share_memory_and_stay_flat() -> None:
    buffer = Buffer("PYTHON", 8, dtypes.int32).copyin(np.arange(8, dtype=np.int32).tobytes())
    view = buffer.view(4, dtypes.int32, 8)
    inner = view.view(4, dtypes.int16, 4)
    assert inner.base is buffer
    assert inner.offset == 12
    np.testing.assert_array_equal(view.numpy(), [2, 3, 4, 5])
    np.testing.assert_array_equal(inner.numpy(), [3, 0, 4, 0])
    inner.copyin(np.array([9, 0, 8, 0], np.int16).tobytes())
    np.testing.assert_array_equal(buffer.numpy(), [0, 1, 2, 9, 8, 5, 6, 7])


def test_a_view_allocates_its_base() -> None:
    buffer = Buffer("PYTHON", 4, dtypes.uint8)
    view = buffer.view(2, dtypes.uint8, 1).ensure_allocated()
    assert buffer.is_allocated()
    assert view.copyin(b"ab").numpy().tolist() == [97, 98]


def test_a_view_keeps_the_memory_alive() -> None:
    before = GlobalCounters.mem_used
    buffer = Buffer("PYTHON", 1000, dtypes.uint8).allocate()
    view = buffer.view(10, dtypes.uint8, 0)
    del buffer
    gc.collect()
    assert GlobalCounters.mem_used == before + 1000
    del view
    assert GlobalCounters.mem_used == before


def test_memory_comes_back_with_the_collector_off() -> None:
    before = GlobalCounters.mem_used
    gc.disable()
    try:
        for _ in range(100):
            Buffer("PYTHON", 4096, dtypes.float32).allocate()
        assert GlobalCounters.mem_used == before
    finally:
        gc.enable()


def test_given_memory_is_used_and_not_counted() -> None:
    before = GlobalCounters.mem_used
    memory = np.zeros(8, np.uint8)
    buffer = Buffer("NPY", 2, dtypes.int32, opaque=memory)
    assert buffer.is_allocated()
    assert GlobalCounters.mem_used == before
    memory[0] = 5
    assert buffer.numpy().tolist() == [5, 0]


@pytest.mark.parametrize("device", [*HOSTS, Device.DEFAULT])
def test_a_memory_view_keeps_its_bytes(device: str) -> None:
    before = GlobalCounters.mem_used
    buffer = Buffer(device, 64, dtypes.uint8).copyin(bytes(range(64)))
    view = buffer.view(32, dtypes.uint8, 32).as_memoryview()[:4]
    del buffer
    Buffer(device, 64, dtypes.uint8).copyin(bytes(64))
    assert bytes(view) == bytes(range(32, 36))
    assert GlobalCounters.mem_used == before + 64
    view.release()
    assert GlobalCounters.mem_used == before


def test_external_memory() -> None:
    memory = np.arange(4, dtype=np.int64)
    options = BufferOptions(external=memory.ctypes.data)
    buffer = Buffer("PYTHON", 4, dtypes.int64, options=options).allocate()
    assert buffer.numpy().tolist() == [0, 1, 2, 3]
    memory[2] = 7
    assert buffer.numpy().tolist() == [0, 1, 7, 3]


def test_an_empty_buffer() -> None:
    buffer = Buffer("PYTHON", 0, dtypes.float32).allocate()
    assert buffer.copyin(b"").numpy().shape == (0,)
    assert len(buffer.as_memoryview()) == 0


def test_lengths_are_checked() -> None:
    buffer = Buffer("PYTHON", 4, dtypes.int32)
    with pytest.raises(ShapeError, match="15 bytes given"):
        buffer.copyin(bytes(15))
    buffer.allocate()
    with pytest.raises(ShapeError, match="17 bytes given"):
        buffer.copyout(bytearray(17))


@pytest.mark.parametrize(("size", "offset"), [(5, 0), (4, 1), (1, -1), (1, 16)])
def test_views_stay_inside(size: int, offset: int) -> None:
    buffer = Buffer("PYTHON", 4, dtypes.int32)
    with pytest.raises(ShapeError, match="view of bytes"):
        buffer.view(size, dtypes.int32, offset)


def test_reading_what_was_never_allocated() -> None:
    with pytest.raises(DeviceError, match="not allocated"):
        Buffer("PYTHON", 4, dtypes.int32).numpy()


def test_allocating_twice() -> None:
    buffer = Buffer("PYTHON", 4, dtypes.int32).allocate()
    with pytest.raises(DeviceError, match="already allocated"):
        buffer.allocate()
    assert buffer.ensure_allocated() is buffer


def test_bad_sizes_and_dtypes() -> None:
    with pytest.raises(ShapeError, match="negative"):
        Buffer("PYTHON", -1, dtypes.int32)
    with pytest.raises(DTypeError, match="weakint has no width"):
        Buffer("PYTHON", 1, dtypes.weakint)
    with pytest.raises(DTypeError, match="numpy has no bfloat16"):
        Buffer("PYTHON", 1, dtypes.bfloat16).allocate().numpy()


def test_more_than_the_machine_has() -> None:
    with pytest.raises(OutOfMemory, match=r"PYTHON: out of memory: .* TB wanted"):
        Buffer("PYTHON", 1 << 50, dtypes.uint8).allocate()
    assert Buffer("PYTHON", 8, dtypes.uint8).allocate().is_allocated()


def test_a_buffer_opens_its_device_once() -> None:
    buffer = Buffer("PYTHON", 8, dtypes.uint8).allocate()
    assert buffer.compiled is Device["PYTHON"]
    assert buffer.view(1, dtypes.uint8, 0).compiled is Device["PYTHON"]


def test_a_read_only_target_invalid() -> None:
    constant = bytes(4)
    buffer = Buffer("PYTHON", 4, dtypes.uint8).copyin(b"abcd")
    with pytest.raises(DeviceError, match="read-only"):
        buffer.copyout(memoryview(constant))
    assert constant == bytes(4)


def test_memory_that_outlives_the_modules_goes_in_silence() -> None:
    program = """
import json, sys
import tg_core.device.memory_pool as pool
from tg_core.device import Buffer
from tg_core.dtype import dtypes

# modules that are held are emptied before the buffer goes
sys.held = [json, pool]
json.held = Buffer("PYTHON", 4, dtypes.float32).allocate()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_overlap() -> None:
    whole = Buffer("PYTHON", 8, dtypes.float32)
    head, tail = whole.view(4, dtypes.float32, 0), whole.view(4, dtypes.float32, 16)
    assert head.overlaps(whole)
    assert whole.overlaps(tail)
    assert head.overlaps(whole.view(4, dtypes.float32, 12))
    assert not head.overlaps(tail)
    assert not head.overlaps(Buffer("PYTHON", 8, dtypes.float32))
