"""Level 1: memory is given out once, comes back, and runs out with an error."""

from __future__ import annotations

import gc
import resource
import threading

import numpy as np
import pytest

from tg_conformance.suite.test_level1_buffers import check_bytes, new, pattern, read
from tg_core import Device, GlobalCounters
from tg_core.backend import Capability
from tg_core.device import Buffer, BufferOptions
from tg_core.dtype import dtypes
from tg_core.errors import OutOfMemory

pytestmark = pytest.mark.tg_level(1)

ALIGNMENT = 8
"""Bytes: the largest element. Kernels access elements where they are naturally aligned."""


@pytest.mark.tg_core
def test_buffers_do_not_overlap(tg_device: str) -> None:
    """Many buffers of many sizes hold what was written to each."""
    sizes = [1, 3, 8, 17, 64, 100, 128, 1000, 4096, 4097, 65536] * 6
    held = [new(tg_device, n).copyin(pattern(n, i).data) for i, n in enumerate(sizes)]
    for i, (n, buffer) in enumerate(zip(sizes, held)):
        check_bytes(f"{tg_device}: buffer {i} of {n} bytes", read(buffer), pattern(n, i))


@pytest.mark.tg_core
def test_freed_memory_is_used_again_only_when_free(tg_device: str) -> None:
    """Buffers come and go; those that stay keep their contents."""
    random = np.random.default_rng(11)
    held: dict[int, Buffer] = {}
    for step in range(400):
        if len(held) > 24:
            del held[int(random.choice(list(held)))]
        nbytes = int(random.choice([64, 100, 4096]))
        held[step] = new(tg_device, nbytes).copyin(pattern(nbytes, step).data)
        if step % 50 == 49:
            for number, buffer in held.items():
                what = f"{tg_device}: buffer {number} after {step + 1} allocations"
                check_bytes(what, read(buffer), pattern(buffer.nbytes, number))


@pytest.mark.tg_core
def test_what_is_held_is_counted(tg_device: str) -> None:
    """The counter of used memory goes up and comes back."""
    gc.collect()
    before = GlobalCounters.mem_used
    held = [new(tg_device, 1000) for _ in range(10)]
    up = GlobalCounters.mem_used - before
    assert up == 10000, f"{tg_device}: 10 buffers of 1000 bytes count as {up}"
    held.clear()
    left = GlobalCounters.mem_used - before
    assert left == 0, f"{tg_device}: {left} bytes are still counted after all was freed"


@pytest.mark.tg_core
def test_released_memory_goes_back(tg_device: str) -> None:
    """Taking and releasing memory again and again does not make the process grow."""
    step, rounds = 16 << 20, 24
    filler = bytes(step)

    def turn() -> None:
        new(tg_device, step).copyin(filler)
        Device[tg_device].memory.release_cached()

    turn()
    before = _resident()
    for _ in range(rounds):
        turn()
    grown = _resident() - before
    assert grown < step * rounds // 2, (
        f"{tg_device}: {rounds} times {step >> 20} MiB were taken and released, and the process "
        f"grew by {grown >> 20} MiB: the allocator does not free"
    )


def _resident() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.tg_core
def test_addresses_are_aligned(tg_device: str) -> None:
    """Where memory has addresses, allocations start at multiples of the largest element."""
    allocator = Device[tg_device].allocator
    from tg_core.backend import Allocator

    if type(allocator).address is Allocator.address:
        return
    held = [new(tg_device, nbytes) for nbytes in (1, 3, 8, 100, 4097) * 4]
    for buffer in held:
        address = allocator.address(buffer.opaque)
        assert address % ALIGNMENT == 0, (
            f"{tg_device}: {buffer.nbytes} bytes start at {address:#x}, not a multiple of 8"
        )
        view = buffer.view(1, dtypes.uint8, buffer.nbytes - 1)
        distance = allocator.address(view.opaque) - address
        assert distance == buffer.nbytes - 1, (
            f"{tg_device}: a view of the last of {buffer.nbytes} bytes is {distance} bytes in"
        )


@pytest.mark.tg_core
def test_exhaustion_is_an_error_and_nothing_else(tg_device: str) -> None:
    """Asking for more than there is raises, says so, and leaves the device usable."""
    kept = new(tg_device, 4096).copyin(pattern(4096, 1).data)
    limit = Device[tg_device].allocator.limit()
    for wanted in (limit * 2 if limit is not None else 1 << 50, 1 << 62):
        with pytest.raises(MemoryError) as caught:
            new(tg_device, wanted)
        assert isinstance(caught.value, OutOfMemory), f"{tg_device}: {caught.value!r}"
        message = str(caught.value)
        assert tg_device in message and "wanted" in message, f"{tg_device}: {message}"
    check_bytes(f"{tg_device}: after exhaustion", read(kept), pattern(4096, 1))
    again = new(tg_device, 4096).copyin(pattern(4096, 2).data)
    check_bytes(f"{tg_device}: new memory after exhaustion", read(again), pattern(4096, 2))


@pytest.mark.tg_core
def test_memory_runs_out_piece_by_piece(tg_device: str) -> None:
    """Nearly all of the memory can be had, then there is an error, and what is freed can be had
    again. The host's own memory is left alone.
    """
    limit = Device[tg_device].allocator.limit()
    if limit is None or Capability.HOST_VISIBLE in Device[tg_device].capabilities:
        return
    Device[tg_device].memory.release_cached()
    held: list[Buffer] = []
    error: OutOfMemory | None = None
    while error is None and len(held) < 9:
        try:
            held.append(new(tg_device, limit // 8))
        except OutOfMemory as found:
            error = found
            continue
        end = held[-1].view(512, dtypes.uint8, limit // 8 - 512)
        end.copyin(pattern(512, len(held) - 1).data)
    assert 6 <= len(held) <= 8, f"{tg_device}: {len(held)} eighths of {limit} bytes fit"
    for turn in range(3):
        del held[turn]
        held.insert(turn, new(tg_device, limit // 8))
        held[turn].view(512, dtypes.uint8, limit // 8 - 512).copyin(pattern(512, turn).data)
    for number, buffer in enumerate(held):
        end = buffer.view(512, dtypes.uint8, buffer.nbytes - 512)
        check_bytes(f"{tg_device}: end of eighth {number}", read(end), pattern(512, number))
    held.clear()
    Device[tg_device].memory.release_cached()


@pytest.mark.tg_core
def test_small_buffers_come_back_by_the_thousand(tg_device: str) -> None:
    """Many buffers are held at once and freed in another order; the others stay as they are."""
    order = np.random.default_rng(3).permutation(2000)
    held = {n: new(tg_device, 1 + n % 97).copyin(pattern(1 + n % 97, n).data) for n in range(2000)}
    for count, number in enumerate(order.tolist()):
        del held[number]
        if count % 500 == 250:
            for other in list(held)[::25]:
                wanted = pattern(1 + other % 97, other)
                what = f"{tg_device}: buffer {other} after {count + 1} of 2000 were freed"
                check_bytes(what, read(held[other]), wanted)


@pytest.mark.tg_core
def test_threads_allocate_at_the_same_time(tg_device: str) -> None:
    """Memory is given out once, whoever asks."""
    wrong: list[str] = []

    def work(number: int) -> None:
        held = []
        for i in range(40):
            nbytes = 64 + 8 * (i % 5)
            buffer = new(tg_device, nbytes).copyin(pattern(nbytes, number * 100 + i).data)
            held.append((buffer, number * 100 + i))
            if i % 3 == 0:
                held.pop(0)
        for buffer, seed in held:
            if (read(buffer) != pattern(buffer.nbytes, seed)).any():
                wrong.append(f"thread {number}, buffer {seed}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), f"{tg_device}: a thread hangs"
    assert not wrong, f"{tg_device}: other contents in {'; '.join(wrong)}"


@pytest.mark.tg_needs("HOST_VISIBLE")
@pytest.mark.parametrize("nbytes", [1, 7, 64, 4099, 1 << 20])
def test_the_host_maps_the_memory_itself(tg_device: str, nbytes: int) -> None:
    """A mapping shows what is written to the device, and the device what is written to it."""
    wanted = pattern(nbytes, 1)
    buffer = new(tg_device, nbytes).copyin(wanted.data)
    view = buffer.host_view()
    assert view is not None, f"{tg_device}: declares HOST_VISIBLE and maps nothing"
    seen = np.frombuffer(view, np.uint8)
    check_bytes(f"{tg_device}: mapping of {nbytes} bytes", seen, wanted)
    buffer.copyin(pattern(nbytes, 2).data)
    check_bytes(f"{tg_device}: mapping after a write", seen, pattern(nbytes, 2))
    seen[:] = pattern(nbytes, 3)
    check_bytes(f"{tg_device}: device after a write to the mapping", read(buffer), seen)


@pytest.mark.tg_needs("HOST_VISIBLE")
def test_views_are_mapped_where_they_are(tg_device: str) -> None:
    """The mapping of a view is that part of the mapping of its base."""
    wanted = pattern(1000, 4)
    base = new(tg_device, 1000).copyin(wanted.data)
    for offset, nbytes in ((0, 10), (1, 999), (500, 77), (999, 1)):
        view = base.view(nbytes, dtypes.uint8, offset).host_view()
        assert view is not None, f"{tg_device}: a view is not mapped"
        check_bytes(
            f"{tg_device}: mapped view of {nbytes} bytes at {offset}",
            np.frombuffer(view, np.uint8),
            wanted[offset : offset + nbytes],
        )


@pytest.mark.tg_needs("HOST_VISIBLE")
def test_memory_of_the_caller_is_used_in_place(tg_device: str) -> None:
    """Given an address, a buffer is that memory: nothing is allocated, nothing freed."""
    block = pattern(256, 6)
    options = BufferOptions(external=int(block.ctypes.data))
    buffer = Buffer(tg_device, 256, dtypes.uint8, options=options).allocate()
    check_bytes(f"{tg_device}: memory of the caller", read(buffer), block)
    buffer.copyin(pattern(256, 7).data)
    del buffer
    Device[tg_device].memory.release_cached()
    check_bytes(f"{tg_device}: memory of the caller after use", block, pattern(256, 7))
