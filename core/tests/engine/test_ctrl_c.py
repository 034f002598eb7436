"""Ctrl-C as it arrives: in a capture, while a kernel compiles, and at any time in another process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tg_core import Context, Device, Tensor, TinyJit
from tg_core.codegen import clear_compiled
from tg_core.engine.realize import clear_linked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_in_a_capture() -> None:
    state = Tensor([0.0]).contiguous().realize()
    interrupts = [False, True, False, False, False]

    @TinyJit
    def step(x: Tensor) -> Tensor:
        state.assign(state + x).realize()
        if interrupts.pop(0):
            signal.raise_signal(signal.SIGINT)
        return (state * 2).contiguous()

    x = Tensor([1.0]).realize()
    assert step(x).tolist() == [2.0]
    with pytest.raises(KeyboardInterrupt):
        step(x)
    assert state.tolist() == [2.0], "what ran before the interrupt counts"
    for count in (3, 4, 5, 6):
        assert step(x).tolist() == [2.0 * count]
    assert interrupts == [False, False], "captured once, and then replayed"


@pytest.mark.parametrize("kernels", [1, 3])
def test_while_kernels_compile(kernels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = Device["CPU"].renderer
    compile_, planted = type(renderer).compile, []

    def interrupted(self: Any, source: str) -> bytes:
        if not planted:
            planted.append(True)
            # several kernels compile in other threads, which hand the signal on to this one
            signal.raise_signal(signal.SIGINT)
        binary: bytes = compile_(self, source)
        return binary

    x = Tensor([1.0, 2.0, 3.0]).realize()
    x.assign(x + 0.125)
    y = x
    for i in range(kernels):
        y = (y * (1.5 + i)).contiguous()
    wanted = [1.125, 2.125, 3.125]
    for i in range(kernels):
        wanted = [v * (1.5 + i) for v in wanted]
    with Context(CACHE=0):
        clear_compiled()
        clear_linked()
        monkeypatch.setattr(type(renderer), "compile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            y.realize()
        assert planted
        assert y.tolist() == wanted
        assert x.tolist() == [1.125, 2.125, 3.125]


CHILD = """
import os, signal, time
from tg_core import Tensor, TinyJit

armed, seen = False, 0

def handler(number, frame):
    global armed, seen
    if armed:
        armed = False
        seen += 1
        raise KeyboardInterrupt

counter, other = Tensor([0.0, 0.0]).contiguous().realize(), Tensor([0.0]).contiguous().realize()
first, second = Tensor([0.0]).contiguous().realize(), Tensor([0.0]).contiguous().realize()

@TinyJit
def step(x):
    first.assign(first + x).realize()
    there = (first + 1).to("PYTHON").contiguous().to("CPU")
    second.assign(second + x).realize()
    return (there + second).contiguous()

x = Tensor([1.0]).realize()
for _ in range(3):
    step(x)
signal.signal(signal.SIGINT, handler)
print("ready", flush=True)
done, calls, deadline = 0, 3, time.monotonic() + 30
while seen < 40 and time.monotonic() < deadline:
    counter.assign(counter + 1)
    other.assign(other + counter.sum())
    done += 1
    before = seen
    try:
        armed = True
        if done % 2:
            Tensor.realize(counter, other)
        else:
            step(x)
        armed = False
    except KeyboardInterrupt:
        pass
    total = first.item()
    assert total == second.item(), (total, second.item())
    assert calls <= total <= calls + 1, (calls, total)
    calls = total
    # several writes may be pending after a step
    if done % 2 == 0:
        assert counter.tolist() == [done, done], (counter.tolist(), done)
        assert other.item() == done * (done + 1), (other.item(), done)
print(seen, flush=True)
# without the end of the interpreter, where signals have their first meaning again
os._exit(0)
"""


def test_at_any_time_in_another_process() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    deadline, wait = time.monotonic() + 60, 1e-4
    while child.poll() is None and time.monotonic() < deadline:
        child.send_signal(signal.SIGINT)
        # other places each time
        wait = wait * 1.37 % 2e-3 + 1e-4
        time.sleep(wait)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    assert int(out) > 0
