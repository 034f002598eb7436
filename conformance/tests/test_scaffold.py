"""A generated backend conforms as it is, installed into an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from generated import install_generated
from suite_runs import joined, run_suite

LEVELS = [
    # A part of each, to be quick; CI of the package runs all.
    ("0-1", "", 1),
    ("2", "(int32 or float32) and (arithmetic or sums or movement or where)", None),
    ("4-7", "replay or threads_compute or several or time_is", None),
]


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backend with queues."""
    folder = tmp_path_factory.mktemp("scaffold") / "tg-acme"
    install_generated("acme", folder)
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backend without queues."""
    folder = tmp_path_factory.mktemp("scaffold") / "tg-bolt"
    install_generated("bolt", folder, plain=True)
    return folder


@pytest.mark.parametrize(("level", "expression", "reached"), LEVELS)
@pytest.mark.parametrize("name", ["acme", "bolt"])
def test_it_conforms(
    name: str,
    level: str,
    expression: str,
    reached: int | None,
    acme: Path,
    plain: Path,
    tmp_path: Path,
) -> None:
    folder = acme if name == "acme" else plain
    options = ["--device", name, "--level", level, *(("-k", expression) if expression else ())]
    run = run_suite(tmp_path, *options, PYTHONPATH=str(folder / "src"))
    assert run.code == 0, run.output
    assert run.report["failed"] == 0
    assert run.report["passed"] > 12
    assert run.report["interface"] == f"MOCK{name.upper()}"
    if reached is not None:
        assert run.report["level"] == reached
        text = f"{name.upper()}, opened through MOCK{name.upper()}: level {reached} reached"
        assert text in " ".join(run.output.split())


def test_its_queues_keep_the_order(acme: Path, tmp_path: Path) -> None:
    names = "random_graphs[1] or full_ring or timeline or peer or exception or is_freed"
    options = ["--device", "ACME", "--level", "3", "-k", names]
    run = run_suite(tmp_path, *options, PYTHONPATH=str(acme / "src"))
    assert run.code == 0, run.output
    assert run.report["failed"] == run.report["undeclared"] == 0
    assert {"QUEUES", "COPY_QUEUE"} <= set(run.report["capabilities"]["declared"])


@pytest.mark.parametrize(("name", "count"), [("acme", 5), ("bolt", 5)])
def test_its_own_tests_pass(name: str, count: int, acme: Path, plain: Path) -> None:
    folder = acme if name == "acme" else plain
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": joined(str(folder / "src"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} passed" in done.stdout
