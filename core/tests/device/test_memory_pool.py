"""The layer that keeps freed memory, counts, and explains exhaustion."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from tg_core.device.api import Allocator, BufferOptions
from tg_core.device.counters import GlobalCounters
from tg_core.device.memory_pool import MemoryPool, format_bytes
from tg_core.errors import OutOfMemory

PLAIN = BufferOptions()


class Block:
    """Memory of the test allocator."""


class CountingAllocator(Allocator):
    """Has `capacity` bytes; notes what is asked of it."""

    def __init__(self, capacity: int = 1 << 40) -> None:
        self.capacity = capacity
        self.taken = 0
        self.allocs: list[int] = []
        self.frees: list[int] = []

    def alloc(self, nbytes: int, options: BufferOptions) -> Block:
        if self.taken + nbytes > self.capacity:
            raise MemoryError("the card is full")
        self.taken += nbytes
        self.allocs.append(nbytes)
        return Block()

    def free(self, opaque: Any, nbytes: int, options: BufferOptions) -> None:
        self.taken -= nbytes
        self.frees.append(nbytes)


def test_freed_memory_is_reused_by_exact_size_and_options() -> None:
    allocator = CountingAllocator()
    pool = MemoryPool(allocator, "T", 1000)
    block = pool.alloc(100, PLAIN)
    pool.free(block, 100, PLAIN)
    assert pool.alloc(100, BufferOptions(uncached=True)) is not block
    assert pool.alloc(101, PLAIN) is not block
    assert pool.alloc(100, PLAIN) is block
    assert allocator.allocs == [100, 100, 101]
    assert allocator.frees == []


def test_oldest_kept_memory_goes_first() -> None:
    allocator = CountingAllocator()
    pool = MemoryPool(allocator, "T", 250)
    blocks = [pool.alloc(size, PLAIN) for size in (100, 101, 102)]
    for size, block in zip((100, 101, 102), blocks):
        pool.free(block, size, PLAIN)
    assert allocator.frees == [100]
    assert pool.cached == 203
    assert pool.release_cached() == 203
    assert sorted(allocator.frees) == [100, 101, 102]
    assert allocator.taken == 0


def test_nothing_is_kept_when_told_so() -> None:
    allocator = CountingAllocator()
    pool = MemoryPool(allocator, "T", 0)
    pool.free(pool.alloc(8, PLAIN), 8, PLAIN)
    assert allocator.frees == [8]


def test_external_memory_is_neither_kept_nor_counted() -> None:
    pool = MemoryPool(CountingAllocator(), "T", 1000)
    before = GlobalCounters.mem_used
    options = BufferOptions(external=4096)
    block = pool.alloc(8, options)
    assert (pool.used, GlobalCounters.mem_used) == (0, before)
    pool.free(block, 8, options)
    assert (pool.cached, GlobalCounters.mem_used) == (0, before)


def test_counters_follow_what_is_held() -> None:
    pool = MemoryPool(CountingAllocator(), "T", 1000)
    before = GlobalCounters.mem_used
    block = pool.alloc(64, PLAIN)
    assert GlobalCounters.mem_used == before + 64
    assert GlobalCounters.mem_peak >= before + 64
    pool.free(block, 64, PLAIN)
    assert GlobalCounters.mem_used == before
    assert (pool.used, pool.cached) == (0, 64)


def test_an_empty_buffer_gets_memory_too() -> None:
    allocator = CountingAllocator()
    pool = MemoryPool(allocator, "T", 1000)
    pool.free(pool.alloc(0, PLAIN), 0, PLAIN)
    assert allocator.allocs == [1]
    assert pool.used == 0


def test_what_is_kept_is_released_before_giving_up() -> None:
    allocator = CountingAllocator(capacity=150)
    pool = MemoryPool(allocator, "T", 1000)
    pool.free(pool.alloc(100, PLAIN), 100, PLAIN)
    pool.alloc(120, PLAIN)
    assert allocator.allocs == [100, 120]


def test_garbage_in_cycles_is_collected_before_giving_up() -> None:
    allocator = CountingAllocator(capacity=150)
    pool = MemoryPool(allocator, "T", 1000)

    class Holder:
        def __init__(self) -> None:
            self.block = pool.alloc(100, PLAIN)
            self.me = self

        def __del__(self) -> None:
            pool.free(self.block, 100, PLAIN)

    gc.disable()
    try:
        Holder()
        pool.alloc(120, PLAIN)
    finally:
        gc.enable()
    assert allocator.allocs == [100, 120]


def test_exhaustion_names_wanted_held_and_the_largest_holders() -> None:
    allocator = CountingAllocator(capacity=10_000)
    pool = MemoryPool(allocator, "CARD:1", 1000)
    held = [pool.alloc(4000, PLAIN, "float32") for _ in range(2)]
    held.append(pool.alloc(100, PLAIN, "int32"))
    with pytest.raises(OutOfMemory) as caught:
        pool.alloc(5000, PLAIN, "x")
    message = str(caught.value)
    assert message.startswith("CARD:1: out of memory: 5.00 KB wanted, 8.10 KB held by 3 buffers")
    assert "8.00 KB: 2 x 4.00 KB float32" in message
    assert "100 B: 1 x 100 B int32" in message
    assert "the card is full" in message
    # The device is usable again afterwards.
    pool.free(held.pop(0), 4000, PLAIN)
    assert pool.alloc(5000, PLAIN) is not None


def test_the_limit_of_the_allocator_counts() -> None:
    class Limited(CountingAllocator):
        def limit(self) -> int:
            return 100

    pool = MemoryPool(Limited(), "T", 1000)
    pool.alloc(60, PLAIN)
    with pytest.raises(OutOfMemory, match="60 B of 100 B held"):
        pool.alloc(50, PLAIN)
    assert isinstance(pool.alloc(40, PLAIN), Block)


def test_threads_share_a_pool() -> None:
    allocator = CountingAllocator()
    pool = MemoryPool(allocator, "T", 1 << 20)
    before = GlobalCounters.mem_used

    def work() -> None:
        for size in range(1, 300):
            pool.free(pool.alloc(size, PLAIN), size, PLAIN)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.release_cached()
    assert sorted(allocator.allocs) == sorted(allocator.frees)
    assert (pool.used, pool.cached, GlobalCounters.mem_used) == (0, 0, before)


@pytest.mark.parametrize(
    ("nbytes", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.50 KB"),
        (2_000_000, "2.00 MB"),
        (10**16, "10000.00 TB"),
    ],
)
def test_format_bytes(nbytes: int, expected: str) -> None:
    assert format_bytes(nbytes) == expected
