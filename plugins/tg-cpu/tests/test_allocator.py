"""Host memory of the CPU device."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

from tg_core.backend import BufferOptions, Device, OutOfMemory
from tg_cpu.allocator import ALIGNMENT, CPUAllocator


@pytest.fixture
def allocator() -> CPUAllocator:
    found = Device["CPU"].allocator
    assert isinstance(found, CPUAllocator)
    return found


def test_memory_is_aligned(allocator: CPUAllocator) -> None:
    for nbytes in (1, 63, 4096, 1 << 20):
        memory = allocator.alloc(nbytes, BufferOptions())
        assert memory.address % ALIGNMENT == 0
        assert memory.nbytes == nbytes


def test_copies_go_in_and_out(allocator: CPUAllocator) -> None:
    memory = allocator.alloc(16, BufferOptions())
    data = np.arange(16, dtype=np.uint8)
    allocator.copyin(memory, data.data)
    back = np.zeros(16, np.uint8)
    allocator.copyout(back.data, memory)
    np.testing.assert_array_equal(back, data)
    part = allocator.offset(memory, 4, 8)
    assert part.address == memory.address + 8
    assert bytes(allocator.as_memoryview(part)) == bytes(range(8, 12))
    assert allocator.address(part) == part.address


def test_a_view_keeps_the_memory_alive(allocator: CPUAllocator) -> None:
    memory = allocator.alloc(1 << 16, BufferOptions())
    allocator.copyin(memory, memoryview(bytes([7]) * (1 << 16)))
    view = np.frombuffer(allocator.as_memoryview(memory), np.uint8)
    del memory
    gc.collect()
    filler = [np.full(1 << 16, 9, np.uint8) for _ in range(8)]
    assert (view == 7).all()
    del filler


def test_external_memory_is_used_in_place(allocator: CPUAllocator) -> None:
    block = (ctypes.c_uint8 * 8)()
    memory = allocator.alloc(8, BufferOptions(external=ctypes.addressof(block)))
    allocator.copyin(memory, memoryview(b"external"))
    assert bytes(block) == b"external"


def test_too_much_is_out_of_memory() -> None:
    from tg_core.backend import Buffer, dtypes

    with pytest.raises(OutOfMemory):
        Buffer("CPU", 1 << 60, dtypes.uint8).allocate()
