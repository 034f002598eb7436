"""Context variables of this backend."""

from __future__ import annotations

import os

from tg_core.backend import ContextVar, DeviceError

CPU_THREADS = ContextVar(
    "CPU_THREADS", 0, doc="threads of the CPU backend; 0: as many as this process may run on"
)


def thread_count() -> int:
    """Return how many threads run kernels, the calling one included.

    Raises:
        DeviceError: `CPU_THREADS` is negative.
    """
    wanted = CPU_THREADS.value
    if wanted < 0:
        raise DeviceError(f"CPU_THREADS: expected 0 or a number of threads, found {wanted}")
    if wanted:
        return wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
