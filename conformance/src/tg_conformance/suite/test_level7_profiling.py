"""Level 7: times and counts are those of the kernels that ran."""

from __future__ import annotations

import math
import re
import time

import numpy as np
import pytest

from tg_core import Context, Device, GlobalCounters, Tensor, TinyJit
from tg_core.backend import Ops, ProgramInfo
from tg_core.codegen import compile_program
from tg_core.device import Buffer

pytestmark = [pytest.mark.tg_level(7), pytest.mark.tg_needs("PROGRAMS")]

TOLERANCE = 1.05
"""How much longer than the host waited a kernel may claim to have run: clocks differ."""


def launch(device: str, size: int) -> tuple[float | None, float]:
    """Run one kernel and wait for it.

    Returns:
        The time the device gives and the time the host saw, in seconds.
    """
    tensor = Tensor(np.ones(size, np.float32), device=device) * 2 + 1
    call = next(c for c in tensor.schedule_linear().src if c.src[0].op is Ops.SINK)
    program = compile_program(call.src[0], Device[device].renderer)
    info: ProgramInfo = program.arg
    loaded = Device[device].load_program(info.name, program.src[3].arg, info)
    # a program that was found on disk has no linear form
    kernel = program.src[0].toposort()
    shapes = {u.arg.slot: u for u in kernel if u.op is Ops.PARAM}
    buffers = [
        Buffer(device, math.prod(shapes[slot].arg.shape), shapes[slot].dtype).allocate()
        for slot in info.params
    ]
    for buffer in buffers:
        buffer.copyin(bytes(buffer.nbytes))
    sizes: tuple[tuple[int, ...], tuple[int, ...]] = (info.global_size, info.local_size)  # type: ignore[assignment]
    start = time.perf_counter()
    elapsed = loaded([buffer.opaque for buffer in buffers], (), *sizes, wait=True)
    Device[device].synchronize()
    return elapsed, time.perf_counter() - start


@pytest.mark.tg_core
def test_a_time_is_a_time(tg_device: str) -> None:
    """A kernel that is waited for gives no time, or one that is not negative and not NaN."""
    for size in (1, 100, 10_000):
        elapsed, _ = launch(tg_device, size)
        if elapsed is None:
            continue
        assert isinstance(elapsed, float), f"{tg_device}: a time of {elapsed!r}"
        assert elapsed >= 0 and math.isfinite(elapsed), f"{tg_device}: a kernel took {elapsed} s"


@pytest.mark.tg_needs("TIMESTAMPS")
def test_a_kernel_takes_no_longer_than_the_host_waited(tg_device: str) -> None:
    """Times are in seconds, of this kernel alone."""
    for size in (1, 1000, 100_000):
        for _ in range(3):
            elapsed, waited = launch(tg_device, size)
            assert elapsed is not None, f"{tg_device}: declares TIMESTAMPS, and gives no time"
            assert elapsed <= waited * TOLERANCE, (
                f"{tg_device}: a kernel of {size} elements took {elapsed:g} s by the device, "
                f"while the host waited for {waited:g} s"
            )


@pytest.mark.tg_needs("TIMESTAMPS")
def test_times_are_not_all_zero(tg_device: str) -> None:
    """A kernel of a million elements takes time."""
    times = [launch(tg_device, 1 << 20)[0] or 0.0 for _ in range(3)]
    assert max(times) > 0, f"{tg_device}: kernels of a million elements took {times} s"


@pytest.mark.tg_core
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_every_kernel_is_counted(tg_device: str, mode: int) -> None:
    """The count of kernels goes up by those that ran, replayed or not."""

    @TinyJit
    def three(x: Tensor) -> Tensor:
        return (((x + 1).realize() * 2).realize() - 3).realize()

    with Context(JIT=mode):
        for call in range(5):
            tensor = Tensor(np.ones(10, np.float32), device=tg_device).clone().realize()
            before = GlobalCounters.kernel_count
            three(tensor)
            counted = GlobalCounters.kernel_count - before
            assert counted == 3, f"{tg_device}: JIT={mode}, call {call + 1} counts {counted} of 3"


def test_each_kernel_is_reported(tg_device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`DEBUG=2` prints a line for each kernel with device, name and time, and adds times up."""
    values = np.arange(77, dtype=np.float32)
    source = Tensor(values, device=tg_device).clone().realize()
    capsys.readouterr()
    before = GlobalCounters.time_sum
    with Context(DEBUG=2):
        got = (((source + 1).realize() * 2).realize()).numpy()
    output = capsys.readouterr().out
    assert np.array_equal(got, (values + 1) * 2), f"{tg_device}: wrong under DEBUG=2"
    pattern = rf"^\*\*\* +{re.escape(tg_device)} +(?!copy)(\S.*?) +([\d.]+) us"
    lines = re.findall(pattern, re.sub(r"\x1b\[[\d;]*m", "", output), re.MULTILINE)
    assert len(lines) >= 2, f"{tg_device}: 2 kernels ran, reported: {output!r}"
    spent = GlobalCounters.time_sum - before
    assert spent >= 0, f"{tg_device}: the kernels took {spent} s"


def test_work_is_estimated(tg_device: str) -> None:
    """Operations and bytes grow with the work."""
    found = []
    for size in (64, 128):
        a = Tensor(np.ones((size, size), np.float32), device=tg_device).clone().realize()
        before = GlobalCounters.flops, GlobalCounters.memory_bytes
        (a @ a).realize()
        after = GlobalCounters.flops, GlobalCounters.memory_bytes
        found.append((after[0] - before[0], after[1] - before[1]))
    (small, few), (large, many) = found
    assert 64**3 <= small <= 8 * 64**3, f"{tg_device}: {small} operations for a 64-cubed product"
    assert large > 4 * small, f"{tg_device}: {small} operations, and {large} for 8 times the work"
    assert many > few >= 2 * 64 * 64 * 4, f"{tg_device}: {few} and {many} bytes of traffic"


def test_memory_is_reported_at_its_peak(tg_device: str) -> None:
    """The peak is what was held at once."""
    GlobalCounters.reset()
    start = GlobalCounters.mem_peak
    held = [Buffer(tg_device, 1 << 16, Tensor([0]).dtype).allocate() for _ in range(4)]
    nbytes = sum(buffer.nbytes for buffer in held)
    del held
    peak = GlobalCounters.mem_peak - start
    assert peak >= nbytes, f"{tg_device}: a peak of {peak} bytes after {nbytes} were held"
