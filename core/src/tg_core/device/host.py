"""Host memory as device memory: what NPY and PYTHON allocate."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tg_core.device.api import Allocator, BufferOptions
from tg_core.errors import DeviceError

__all__ = ["HostAllocator", "host_memory_bytes"]

CONTAINER_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""Where Linux says what a container may use.

Source: Linux kernel, Documentation/admin-guide/cgroup-v2.rst (Memory) and cgroup-v1/memory.rst.
"""

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]


@cache
def host_memory_bytes() -> int | None:
    """Return how much memory this process may use in bytes, or None where it is not known.

    The physical memory of the machine, or what a container is limited to.

    A host allocator uses it as its limit: the kernel promises more than it has, and a process that
    takes the promise up is killed without an error.
    """
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    return min([physical, *(limit for limit in map(_number_in, CONTAINER_LIMITS) if limit)])


def _number_in(path: str) -> int | None:
    """Return the number a file holds, or None where it is absent or holds something else."""
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


class HostAllocator(Allocator):
    """Arrays of bytes that numpy allocates."""

    def alloc(self, nbytes: int, options: BufferOptions) -> Bytes:
        if options.external is not None:
            return _external(options.external, nbytes)
        return np.empty(nbytes, np.uint8)

    def copyin(self, opaque: Bytes, data: memoryview) -> None:
        if not opaque.flags.writeable:
            raise DeviceError(f"{self.device.name}: the memory is read-only")
        opaque[: data.nbytes] = np.frombuffer(data, np.uint8)

    def copyout(self, data: memoryview, opaque: Bytes) -> None:
        data[:] = opaque.data[: data.nbytes]

    def as_memoryview(self, opaque: Bytes) -> memoryview:
        return opaque.data

    def offset(self, opaque: Bytes, nbytes: int, offset: int) -> Bytes:
        return opaque[offset : offset + nbytes]

    def address(self, opaque: Bytes) -> int:
        return int(opaque.ctypes.data)

    def limit(self) -> int | None:
        return host_memory_bytes()


def _external(address: int, nbytes: int) -> Bytes:
    import ctypes

    block = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.ctypeslib.as_array(block)
