"""The thread pool: every chunk once, whoever calls, whatever else happens."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading

import pytest

from tg_core.backend import Context, DeviceError
from tg_cpu import jit
from tg_cpu.pool import pool
from tg_cpu.pool_ir import pool_ir, supported
from tg_cpu.settings import thread_count

KERNELS = """
define void @count(ptr %a, i64 %i) {
  %p = getelementptr i64, ptr %a, i64 %i
  %v = load i64, ptr %p
  %w = add i64 %v, 1
  store i64 %w, ptr %p
  ret void
}
; chunk i of the outer job runs an inner job of 8 chunks on its own row
define void @outer(ptr %a, i64 %i) {
  %run = load ptr, ptr %a
  %first = getelementptr i64, ptr %a, i64 1
  %offset = mul i64 %i, 8
  %row = getelementptr i64, ptr %first, i64 %offset
  call void %run(ptr @count, ptr %row, i64 8)
  ret void
}
define void @slow(ptr %a, i64 %i) {
  br label %loop
loop:
  %n = phi i64 [ 0, %0 ], [ %m, %loop ]
  %m = add i64 %n, 1
  store volatile i64 %m, ptr %a
  %more = icmp ult i64 %m, 200000
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def kernels() -> jit.Library:
    return jit.linker().link(jit.compiler().compile(KERNELS), ("count", "outer", "slow"))


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> int:
    shared = pool()
    before = shared.threads
    shared.set_threads(request.param)
    yield request.param
    shared.set_threads(before)


@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 64, 1000])
def test_every_chunk_runs_once(kernels: jit.Library, threads: int, chunks: int) -> None:
    counts = (ctypes.c_int64 * 1001)()
    for _ in range(50):
        pool().run(kernels.addresses["count"], counts, chunks)
    assert list(counts) == [50] * chunks + [0] * (1001 - chunks)


def test_callers_do_not_wait_for_each_other(kernels: jit.Library, threads: int) -> None:
    counts = [(ctypes.c_int64 * 100)() for _ in range(4)]

    def call(mine: ctypes.Array[ctypes.c_int64]) -> None:
        for _ in range(100):
            pool().run(kernels.addresses["count"], mine, 100)

    callers = [threading.Thread(target=call, args=(mine,)) for mine in counts]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all(list(mine) == [100] * 100 for mine in counts)


def test_a_job_inside_of_a_job(kernels: jit.Library, threads: int) -> None:
    """A compiled host program calls the pool through its address."""
    data = (ctypes.c_int64 * (1 + 16 * 8))()
    data[0] = pool().run_address
    pool().run(kernels.addresses["outer"], data, 16)
    assert list(data[1:]) == [1] * 128


def test_resizing_between_jobs(kernels: jit.Library) -> None:
    shared = pool()
    before = shared.threads
    counts = (ctypes.c_int64 * 16)()
    for threads in (3, 1, 2, 4, before):
        shared.set_threads(threads)
        assert shared.threads == threads
        for _ in range(5):
            shared.run(kernels.addresses["count"], counts, 16)
    assert list(counts) == [25] * 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own(kernels: jit.Library, threads: int) -> None:
    counts = (ctypes.c_int64 * 64)()
    pool().run(kernels.addresses["count"], counts, 64)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for _ in range(20):
                pool().run(kernels.addresses["count"], counts, 64)
            status = 0 if list(counts) == [21] * 64 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool().run(kernels.addresses["count"], counts, 64)
    assert list(counts) == [2] * 64


SCRIPT = """
import ctypes, os, signal, threading
from tg_cpu import jit
from tg_cpu.pool import pool
source = '''%s'''
library = jit.linker().link(jit.compiler().compile(source), ("count", "slow"))
pool().set_threads(4)
counts = (ctypes.c_int64 * 64)()
def interrupt():
    for _ in range(5):
        os.kill(os.getpid(), signal.SIGINT)
caught = 0
for _ in range(30):
    try:
        timer = threading.Timer(0.002, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        for _ in range(40):
            pool().run(library.addresses["slow"], counts, 8)
        timer.join()
    except KeyboardInterrupt:
        caught += 1
    timer.join()
counts = (ctypes.c_int64 * 64)()
for _ in range(10):
    pool().run(library.addresses["count"], counts, 64)
assert list(counts) == [10] * 64
assert caught > 0
print("intact")
"""


def test_interrupts_leave_the_pool_intact_and_exit_is_clean() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT % KERNELS],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "intact", "")


def test_thread_count_follows_the_variable() -> None:
    with Context(CPU_THREADS=3):
        assert thread_count() == 3
    with Context(CPU_THREADS=0):
        assert thread_count() == len(os.sched_getaffinity(0))
    with Context(CPU_THREADS=-1), pytest.raises(DeviceError, match="CPU_THREADS"):
        thread_count()


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_text_names_the_architecture(architecture: str) -> None:
    assert supported(architecture)
    text = pool_ir(architecture)
    assert ("i64 202" in text) == (architecture == "x86_64")
    assert '"yield"' in text or '"pause"' in text
    assert "$" not in text


def test_other_architectures_have_no_pool() -> None:
    assert not supported("riscv64")
