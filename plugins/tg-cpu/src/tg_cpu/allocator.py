"""Host memory aligned for vectors, with its address at hand."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tg_core.backend import Allocator, BufferOptions, host_memory_bytes

ALIGNMENT = 128
"""Alignment of allocations in bytes: two cache lines, which hardware prefetches together."""


class CPUMemory:
    """A stretch of host memory. Programs read `address` alone.

    Args:
        address: where it starts.
        nbytes: how long it is.
        owner: what keeps the memory alive.
    """

    __slots__ = ("address", "nbytes", "owner")

    def __init__(self, address: int, nbytes: int, owner: Any) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner = owner

    def view(self) -> memoryview:
        """Return the bytes; the view keeps the memory alive."""
        block = (ctypes.c_uint8 * self.nbytes).from_address(self.address)
        # numpy's base is the ctypes block; the block carries the owner as an attribute
        block.owner = self.owner  # type: ignore[attr-defined]  # ctypes arrays take attributes
        return memoryview(block).cast("B")


class CPUAllocator(Allocator):
    """Allocates through numpy, which asks for huge pages where they pay."""

    def alloc(self, nbytes: int, options: BufferOptions) -> CPUMemory:
        if options.external is not None:
            return CPUMemory(options.external, nbytes, None)
        block = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = int(block.ctypes.data)
        return CPUMemory(start + -start % ALIGNMENT, nbytes, block)

    def copyin(self, opaque: CPUMemory, data: memoryview) -> None:
        source = np.frombuffer(data, np.uint8)
        ctypes.memmove(opaque.address, source.ctypes.data, source.nbytes)

    def copyout(self, data: memoryview, opaque: CPUMemory) -> None:
        target = np.frombuffer(data, np.uint8)
        ctypes.memmove(target.ctypes.data, opaque.address, target.nbytes)

    def as_memoryview(self, opaque: CPUMemory) -> memoryview:
        return opaque.view()

    def offset(self, opaque: CPUMemory, nbytes: int, offset: int) -> CPUMemory:
        return CPUMemory(opaque.address + offset, nbytes, opaque.owner)

    def address(self, opaque: CPUMemory) -> int:
        return opaque.address

    def limit(self) -> int | None:
        return host_memory_bytes()
