"""The process's pool of native threads that run the chunks of kernels.

Dispatching a job to spinning workers costs about 0.1 microseconds on top of the call
(benchmarks/bench_cpu_pool.py).
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from typing import Any

from tg_core.backend import DiskCache
from tg_cpu.host import host
from tg_cpu.load import load_object
from tg_cpu.pool_ir import WORKER_LIMIT, pool_ir, supported
from tg_cpu.settings import thread_count

_RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_COUNT = ctypes.CFUNCTYPE(None, ctypes.c_int32)

_SERIAL = """
define void @tg_pool_run(ptr %kernel, ptr %args, i64 %chunks) {
entry:
  %some = icmp sgt i64 %chunks, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void %kernel(ptr %args, i64 %i)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %chunks
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @tg_pool_resize(i32 %count) {
  ret void
}
define void @tg_pool_reset(i32 %count) {
  ret void
}
"""
"""The pool where there are no native workers: the caller does everything."""


_cache = DiskCache("cpu-pool")


def _pool_object() -> bytes:
    """Return the object code of the pool, compiled once per machine and version."""
    architecture = host().triple.split("-")[0]
    native = sys.platform == "linux" and supported(architecture)
    source = pool_ir(architecture) if native else _SERIAL
    key = "\0".join((*host(), source))
    binary = _cache.get(key)
    if binary is None:
        from tg_cpu import jit

        # level 0 compiles in a tenth of the time, and the pool spends its time in kernels
        binary = jit.compiler(level=0).compile(source)
        _cache.put(key, binary)
    return binary


class Pool:
    """A compiled thread pool; there is one per process, `pool()`.

    Workers start with the first job of more than one chunk, and end at exit. After a fork the child
    starts its own. A job keeps the interpreter's lock released, and an interrupt is seen by Python
    only when the job is done, so it cannot corrupt anything.
    """

    def __init__(self) -> None:
        symbols = ("tg_pool_run", "tg_pool_resize", "tg_pool_reset")
        self._library = load_object(_pool_object(), symbols)
        addresses = self._library.addresses
        self.run_address = addresses["tg_pool_run"]
        """Address of `void tg_pool_run(void (*kernel)(void *args, int64_t chunk), void *args,
        int64_t chunks)` for compiled host programs."""
        self.run: Any = _RUN(self.run_address)
        """The same as a Python callable: `run(kernel_address, args, chunks)`."""
        self._resize = _COUNT(addresses["tg_pool_resize"])
        self._reset = _COUNT(addresses["tg_pool_reset"])
        self.threads = 1
        """How many threads run a job, the caller included."""
        self.set_threads(thread_count())
        atexit.register(self._resize, 0)
        os.register_at_fork(after_in_child=self._after_fork)

    def set_threads(self, count: int) -> None:
        """Set how many threads run a job; ends the workers there are."""
        self.threads = max(1, min(count, WORKER_LIMIT + 1))
        self._resize(self.threads - 1)

    def _after_fork(self) -> None:
        self._reset(self.threads - 1)


_lock = threading.Lock()
_pool: Pool | None = None


def pool() -> Pool:
    """Return the process's pool, compiled at the first call."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool()
        return _pool
