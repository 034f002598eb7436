"""A loaded kernel: one native call with as little Python around it as possible."""

from __future__ import annotations

import ctypes
import struct
import time
from typing import TYPE_CHECKING, Any

from tg_cpu.load import load_object
from tg_cpu.pool import pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_cpu.allocator import CPUMemory

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


class CPUProgram:
    """A kernel in memory: `void name(void *args, int64_t chunk)`.

    `args` is an array of 8-byte slots: the addresses of the buffers, then the variables. Every call
    packs its own, so a program may be called from several threads at once.

    Args:
        name: the entry point.
        binary: object code.
        slots: number of buffers and variables.
    """

    __slots__ = ("_call", "_library", "_pack", "_run", "address")

    def __init__(self, name: str, binary: bytes, slots: int) -> None:
        self._library = load_object(binary, (name,))
        self.address = self._library.addresses[name]
        """Address of the function, for compiled host programs."""
        self._call: Any = _KERNEL(self.address)
        self._run: Any = None
        self._pack = struct.Struct(f"={slots}q").pack

    def __call__(
        self,
        buffers: Sequence[CPUMemory],
        values: tuple[int, ...] = (),
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] = (1, 1, 1),
        wait: bool = False,
    ) -> float | None:
        """Run the kernel; see `tg_core.backend.Program`. Always complete on return."""
        args = self._pack(*[memory.address for memory in buffers], *values)
        chunks = global_size[0]
        start = time.perf_counter() if wait else 0.0
        if chunks == 1:
            self._call(args, 0)
        else:
            if self._run is None:
                # kernels of one chunk never need the pool, whose compilation takes a while
                self._run = pool().run
            self._run(self.address, args, chunks)
        return time.perf_counter() - start if wait else None
