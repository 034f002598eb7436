"""Level 6: an error stays an error, reaches the one who caused it, and leaves the rest usable."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

from tg_conformance.suite.scripts import LIMIT, run_script, start_script
from tg_core import Device, GlobalCounters, Tensor, TinyJit
from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, OutOfMemory

pytestmark = pytest.mark.tg_level(6)

programs = pytest.mark.tg_needs("PROGRAMS")


def check_works(device: str, when: str) -> None:
    """Check that the device still computes."""
    values = np.random.default_rng(len(when)).integers(-99, 99, 83).astype(np.int32)
    got = (Tensor(values, device=device) * 7 + 1).numpy()
    assert np.array_equal(got, values * 7 + 1), f"{device}: computes something else {when}"


def check_ran(device: str, done: Any, what: str) -> None:
    """Check that a program came to its end."""
    lines = done.stderr.strip().splitlines() or ["no output"]
    assert done.returncode == 0, (
        f"{device}: {what}: exit code {done.returncode}: {lines[-1]}\n{done.stderr[-600:]}"
    )


@programs
@pytest.mark.tg_core
def test_a_binary_that_is_none_is_refused(tg_device: str) -> None:
    """Loading bytes that no compiler wrote raises; it neither crashes nor waits for the launch."""
    body = """
        from tg_core.backend import ProgramInfo
        for junk in (b"", b"junk", bytes(range(256)) * 16):
            try:
                Device[DEVICE].load_program("kernel", junk, ProgramInfo("kernel"))
            except Exception as error:
                assert str(error), "the error says nothing"
            else:
                raise SystemExit(f"{len(junk)} bytes of junk were loaded")
        sevens()
    """
    check_ran(tg_device, run_script(tg_device, body), "loading junk")


@programs
@pytest.mark.tg_core
def test_source_that_is_none_is_refused(tg_device: str) -> None:
    """What the compiler cannot read is an error, at the latest when the result is loaded."""
    body = """
        from tg_core.backend import ProgramInfo
        try:
            binary = Device[DEVICE].renderer.compile("this is no program {")
            Device[DEVICE].load_program("kernel", binary, ProgramInfo("kernel"))
        except Exception as error:
            assert str(error), "the error says nothing"
        else:
            raise SystemExit("nonsense was compiled and loaded")
        sevens()
    """
    check_ran(tg_device, run_script(tg_device, body), "compiling nonsense")


@programs
@pytest.mark.tg_core
def test_out_of_memory_in_a_computation(tg_device: str) -> None:
    """A result that does not fit raises, holds nothing afterwards, and the device goes on."""
    before = GlobalCounters.mem_used
    limit = Device[tg_device].allocator.limit()
    size = limit if limit is not None else 1 << 46
    for _ in range(3):
        with pytest.raises(OutOfMemory):
            Tensor.full((size,), 2.5, device=tg_device).contiguous().realize()
        check_works(tg_device, "after it ran out of memory")
    left = GlobalCounters.mem_used - before
    assert left < 1 << 20, f"{tg_device}: {left} bytes are still held after the failure"


@programs
@pytest.mark.tg_core
def test_an_exception_inside_a_captured_function(tg_device: str) -> None:
    """A function that raises while it is captured can be captured later."""
    failing = [False]

    @TinyJit
    def step(x: Tensor) -> Tensor:
        y = (x + 1).realize()
        if failing[0]:
            raise ZeroDivisionError("on purpose")
        return (y * 2).realize()

    def call(seed: int) -> None:
        values = np.random.default_rng(seed).integers(-9, 9, 12).astype(np.int32)
        got = step(Tensor(values, device=tg_device).clone().realize()).numpy()
        assert np.array_equal(got, (values + 1) * 2), f"{tg_device}: call {seed} is wrong"

    call(1)
    failing[0] = True
    with pytest.raises(ZeroDivisionError):
        call(2)
    failing[0] = False
    for seed in range(3, 7):
        call(seed)


@pytest.mark.tg_core
def test_a_failed_copy_leaves_the_device_usable(tg_device: str) -> None:
    """Errors at the host's side of a copy do not stay with the device."""
    buffer = Buffer(tg_device, 64, dtypes.uint8).allocate().copyin(bytes(range(64)))
    for wrong in (bytes(63), bytes(65)):
        with pytest.raises(ValueError):
            buffer.copyin(wrong)
    constant = bytes(64)
    with pytest.raises(DeviceError, match="read-only"):
        buffer.copyout(memoryview(constant))
    assert constant == bytes(64), f"{tg_device}: a copy changed a constant"
    assert bytes(buffer.copyout(bytearray(64))) == bytes(range(64)), f"{tg_device}: bytes changed"


@programs
@pytest.mark.tg_core
def test_ctrl_c_interrupts_and_the_device_goes_on(tg_device: str) -> None:
    """SIGINT in a loop of kernels becomes KeyboardInterrupt, and the next kernel is right."""
    body = """
        import signal, time
        # a shell that starts the suite in the background lets it ignore SIGINT
        signal.signal(signal.SIGINT, signal.default_int_handler)
        x = Tensor(np.ones(1 << 20, dtype=np.float32), device=DEVICE).realize()
        (x + x).realize()
        try:
            print("started", flush=True)
            end = time.monotonic() + 10
            while time.monotonic() < end:
                (x + x).realize()
        except KeyboardInterrupt:
            pass
        else:
            raise SystemExit("Ctrl-C was lost")
        sevens()
        print("done", flush=True)
    """
    with start_script(tg_device, body) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.strip() == "started", f"{tg_device}: no start: {process.stderr.read()}"  # type: ignore[union-attr]
            # into the loop, wherever that is
            threading.Event().wait(0.3)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 0, f"{tg_device}: exit code {process.returncode}: {errors[-600:]}"
    assert output.strip() == "done", f"{tg_device}: after Ctrl-C: {output!r}"


@programs
@pytest.mark.skipif(not hasattr(os, "fork"), reason="undeclared: no fork on this system")
def test_a_forked_child_computes(tg_device: str) -> None:
    """After a fork the child computes or raises, the parent computes, and neither hangs."""
    body = """
        import os, warnings
        from tg_core.errors import TGError
        warnings.simplefilter("ignore")
        sevens()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                sevens()
                code = 0
            except TGError as error:
                print(error, file=sys.stderr)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, f"the child ends with {status}"
        sevens()
    """
    check_ran(tg_device, run_script(tg_device, body), "computing after a fork")


@programs
@pytest.mark.tg_core
def test_threads_compute_at_the_same_time(tg_device: str) -> None:
    """Four threads run kernels and captured functions on data of their own."""
    wrong: list[str] = []
    together = threading.Barrier(4)

    @TinyJit
    def shared(x: Tensor) -> Tensor:
        return ((x + 1).realize() * 2).realize()

    def work(number: int) -> None:
        try:
            for turn in range(12):
                random = np.random.default_rng(100 * number + turn)
                values = random.integers(-99, 99, 100).astype(np.int32)
                tensor = Tensor(values, device=tg_device).clone().realize()
                # one kernel for all threads, launched at the same time, each on its own data
                together.wait(LIMIT)
                if not np.array_equal((tensor * 3 - 1).numpy(), values * 3 - 1):
                    wrong.append(f"thread {number}, kernel of turn {turn + 1}")
                if not np.array_equal(shared(tensor).numpy(), (values + 1) * 2):
                    wrong.append(f"thread {number}, replay of turn {turn + 1}")
        except Exception as error:
            together.abort()
            wrong.append(f"thread {number}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads), f"{tg_device}: a thread hangs"
    assert not wrong, f"{tg_device}: wrong in {'; '.join(wrong[:5])}"


@programs
def test_buffers_die_on_another_thread(tg_device: str) -> None:
    """Memory may be given back by any thread, while others compute."""
    stop = threading.Event()

    def drop() -> None:
        while not stop.is_set():
            held = [Buffer(tg_device, 4096, dtypes.uint8).allocate() for _ in range(8)]
            del held

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for turn in range(30):
            check_works(tg_device, f"while another thread frees memory, turn {turn + 1}")
    finally:
        stop.set()
        thread.join(LIMIT)


@programs
@pytest.mark.tg_core
def test_exit_with_work_in_flight(tg_device: str) -> None:
    """A process that ends right after its last launch ends cleanly."""
    body = """
        x = Tensor(np.ones(4096, dtype=np.float32), device=DEVICE).realize()
        for _ in range(40):
            x = (x + 1).realize()
    """
    done = run_script(tg_device, body)
    check_ran(tg_device, done, "ending with work in flight")
    assert not done.stderr.strip(), f"{tg_device}: noise at exit: {done.stderr.strip()[-600:]}"


@programs
def test_exit_in_the_middle_of_an_exception(tg_device: str) -> None:
    """An error that nobody catches ends the process with itself, and with nothing after it."""
    body = """
        x = Tensor(np.ones(4096, dtype=np.float32), device=DEVICE).realize()
        y = (x + 1).realize()
        raise LookupError("on purpose")
    """
    done = run_script(tg_device, body)
    assert done.returncode == 1, f"{tg_device}: exit code {done.returncode}: {done.stderr[-600:]}"
    last = done.stderr.strip().splitlines()[-1]
    assert last == "LookupError: on purpose", f"{tg_device}: noise after the error: {last}"
