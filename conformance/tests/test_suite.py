"""The suite itself: it passes on a device of core, and fails without one."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run_suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from tg_conformance.runner import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *arguments, "-p", "no:xdist"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_interpreter_conforms() -> None:
    done = run_suite("--device", "PYTHON")
    assert done.returncode == 0, done.stdout
    assert "tg-conformance: PYTHON" in done.stdout


def test_an_unknown_device_fails_and_is_named_invalid() -> None:
    done = run_suite("--device", "NOPE")
    assert done.returncode == 1, done.stdout
    assert "NOPE" in done.stdout


@pytest.mark.parametrize("option", ["--tg-device", "--tg-interface"])
def test_the_options_are_offered_by_every_pytest(option: str, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getoption(option) is None
