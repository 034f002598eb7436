"""Programs that tests run in a process of their own, on the device under test."""

from __future__ import annotations

import subprocess
import sys
import textwrap

__all__ = ["LIMIT", "run_script", "start_script"]

LIMIT = 60
"""Seconds after which a program counts as hung."""

PRELUDE = """
import sys
import numpy as np
from tg_core import Device, Tensor, TinyJit
DEVICE = sys.argv[1]
turns = iter(range(1, 1000))
def sevens():
    "Compute something else each time, and check it."
    values = np.arange(97, dtype=np.float32) + next(turns) * 100
    got = (Tensor(values, device=DEVICE) * 7 + 1).numpy()
    assert (got == values * 7 + 1).all(), "the device computes something else"
"""


def run_script(device: str, body: str, limit: float = LIMIT) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. `DEVICE` names the device, `sevens()` checks that it works."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(body), device]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        output = str(error.stdout or b"")
        return subprocess.CompletedProcess(command, -1, output, f"still running after {limit:g} s")


def start_script(device: str, body: str) -> subprocess.Popen[str]:
    """Start a program with its output as a pipe."""
    command = [sys.executable, "-u", "-c", PRELUDE + textwrap.dedent(body), device]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
