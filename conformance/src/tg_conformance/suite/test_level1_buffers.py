"""Level 1: bytes in and out of memory, in every size and at every misalignment."""

from __future__ import annotations

import numpy as np
import pytest

from tg_conformance.oracles.values import DTYPES, edge_values
from tg_core.backend import to_dtype
from tg_core.device import Buffer, copy_buffer
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, ShapeError

pytestmark = pytest.mark.tg_level(1)

SIZES = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257, 511, 1023,
    1025, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, (1 << 20) + 3, (8 << 20) + 5,
]  # fmt: skip
"""Bytes: around powers of two, pages, and the sizes where drivers change their way to copy."""

MISALIGNMENTS = [0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 31, 33, 63]

HOST = "PYTHON"


def pattern(nbytes: int, seed: int) -> np.ndarray:
    """Return bytes without a period that a wrong stride could hide behind."""
    return np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)


def check_bytes(what: str, got: np.ndarray, wanted: np.ndarray) -> None:
    """Compare bytes; the message has the first and the last wrong place."""
    assert len(got) == len(wanted), f"{what}: {len(got)} bytes, expected {len(wanted)}"
    wrong = np.flatnonzero(got != wanted)
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {len(wanted)} bytes are wrong, from {wrong[0]} to {wrong[-1]}"
    )


def read(buffer: Buffer) -> np.ndarray:
    """Return the bytes of a buffer, read into memory that holds something else before."""
    target = bytearray(b"\xa5" * buffer.nbytes)
    return np.frombuffer(buffer.copyout(target), np.uint8)


def new(device: str, nbytes: int) -> Buffer:
    """Return a buffer of bytes with memory."""
    return Buffer(device, nbytes, dtypes.uint8).allocate()


@pytest.mark.tg_core
@pytest.mark.parametrize("nbytes", SIZES)
def test_bytes_come_back(tg_device: str, nbytes: int) -> None:
    """What was written is read, also when it is written again."""
    buffer = new(tg_device, nbytes)
    for seed in range(3):
        wanted = pattern(nbytes, seed)
        buffer.copyin(wanted.data)
        check_bytes(f"{tg_device}: {nbytes} bytes, write {seed + 1}", read(buffer), wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_stored(tg_device: str, dtype: str) -> None:
    """Memory keeps the bits of every value, NaN payloads and negative zeros included."""
    cells = edge_values(dtype, 64)
    buffer = Buffer(tg_device, len(cells), to_dtype(dtype)).allocate()
    assert buffer.nbytes == cells.nbytes, f"{dtype}: {buffer.nbytes} bytes for {cells.nbytes}"
    buffer.copyin(cells.view(np.uint8).data)
    check_bytes(f"{tg_device}: {dtype}", read(buffer), cells.view(np.uint8))


@pytest.mark.tg_core
@pytest.mark.parametrize("offset", MISALIGNMENTS)
def test_misaligned_views_are_written(tg_device: str, offset: int) -> None:
    """A write through a view lands where the view is, and nowhere else."""
    for nbytes in (1, 2, 3, 4, 7, 8, 16, 31, 64, 1000, 4096, 4099):
        whole, part = pattern(offset + nbytes + 64, nbytes), pattern(nbytes, nbytes + 1)
        base = new(tg_device, len(whole)).copyin(whole.data)
        base.view(nbytes, dtypes.uint8, offset).copyin(part.data)
        wanted = whole.copy()
        wanted[offset : offset + nbytes] = part
        check_bytes(f"{tg_device}: write of {nbytes} bytes at {offset}", read(base), wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("offset", MISALIGNMENTS)
def test_misaligned_views_are_read(tg_device: str, offset: int) -> None:
    """A read through a view gives the bytes of the view."""
    for nbytes in (1, 2, 3, 4, 7, 8, 16, 31, 64, 1000, 4096, 4099):
        whole = pattern(offset + nbytes + 64, nbytes)
        base = new(tg_device, len(whole)).copyin(whole.data)
        got = read(base.view(nbytes, dtypes.uint8, offset))
        wanted = whole[offset : offset + nbytes]
        check_bytes(f"{tg_device}: read of {nbytes} bytes at {offset}", got, wanted)


@pytest.mark.tg_core
def test_views_of_views(tg_device: str) -> None:
    """Offsets add up, dtypes may differ, and views overlap."""
    whole = pattern(4096, 1)
    base = new(tg_device, 4096).copyin(whole.data)
    words = base.view(512, dtypes.float32, 64)
    inner = words.view(100, dtypes.int16, 12)
    check_bytes(f"{tg_device}: view of a view", read(inner), whole[76:276])
    other = base.view(200, dtypes.uint8, 76)
    other.copyin(pattern(200, 2).data)
    check_bytes(f"{tg_device}: overlapping views", read(inner), pattern(200, 2))


@pytest.mark.tg_core
def test_a_view_keeps_the_memory(tg_device: str) -> None:
    """Memory lives as long as a view of it: nothing allocated later may take it."""
    wanted = pattern(1 << 16, 3)
    view = new(tg_device, 1 << 16).copyin(wanted.data).view(1000, dtypes.uint8, 500)
    others = [new(tg_device, 1 << 16).copyin(bytes(1 << 16)) for _ in range(8)]
    check_bytes(f"{tg_device}: view whose base is gone", read(view), wanted[500:1500])
    assert len(others) == 8


def test_a_view_stays_in_its_base(tg_device: str) -> None:
    """A view that leaves its base is an error."""
    base = new(tg_device, 64)
    for size, offset in ((65, 0), (1, 64), (8, 60), (1, -1)):
        with pytest.raises(ShapeError):
            base.view(size, dtypes.uint8, offset)


def test_empty_buffers(tg_device: str) -> None:
    """No bytes are copied from and to buffers without elements."""
    buffer = new(tg_device, 0)
    buffer.copyin(b"")
    assert buffer.copyout(bytearray()).nbytes == 0, f"{tg_device}: an empty buffer gives bytes"
    copy_buffer(new(tg_device, 0), buffer)


def test_lengths_must_agree(tg_device: str) -> None:
    """Too few and too many bytes are errors, and change nothing."""
    wanted = pattern(64, 5)
    buffer = new(tg_device, 64).copyin(wanted.data)
    for nbytes in (0, 63, 65):
        with pytest.raises(ShapeError):
            buffer.copyin(bytes(nbytes))
        with pytest.raises(ShapeError):
            buffer.copyout(bytearray(nbytes))
    check_bytes(f"{tg_device}: after copies of wrong length", read(buffer), wanted)


def test_memory_must_be_there(tg_device: str) -> None:
    """Reading a buffer that was never allocated is an error."""
    with pytest.raises(DeviceError):
        Buffer(tg_device, 8, dtypes.uint8).copyout(bytearray(8))


@pytest.mark.tg_core
@pytest.mark.parametrize("route", ["to the device", "from the device", "within the device"])
@pytest.mark.parametrize("nbytes", SIZES[::2])
def test_copies_between_buffers(tg_device: str, route: str, nbytes: int) -> None:
    """Buffers are copied to, from and inside the device, at several misalignments."""
    source_device = HOST if route == "to the device" else tg_device
    target_device = HOST if route == "from the device" else tg_device
    for source_offset, target_offset in ((0, 0), (1, 0), (0, 3), (5, 2)):
        data = pattern(nbytes + 16, nbytes)
        source = new(source_device, len(data)).copyin(data.data)
        filler = pattern(nbytes + 16, 9)
        target = new(target_device, len(filler)).copyin(filler.data)
        copy_buffer(
            target.view(nbytes, dtypes.uint8, target_offset),
            source.view(nbytes, dtypes.uint8, source_offset),
        )
        wanted = filler.copy()
        wanted[target_offset : target_offset + nbytes] = data[source_offset:][:nbytes]
        what = f"copy of {nbytes} bytes {route}, from {source_offset} to {target_offset}"
        check_bytes(what, read(target), wanted)
