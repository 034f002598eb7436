"""Ctrl-C in the middle of a training run on the CPU."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest


def test_ctrl_c_ends_training_with_one_line_and_exit_code_130(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the demo extra is not installed")
    pytest.importorskip("matplotlib", reason="the demo extra is not installed")
    command = [sys.executable, "-u", "-m", "tg_core.cli", "demo", "digits", "--epochs", "100000"]
    with subprocess.Popen(
        [*command, "--device", "CPU"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("step 11 of ")
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert errors == ""
    last = output.strip().splitlines()[-1]
    assert last.startswith("interrupted after step ")
    assert list(tmp_path.iterdir()) == []
