"""Running the suite in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROGRAM = "import sys; from tg_conformance.runner import main; sys.exit(main(sys.argv[1:]))"
PLANTED = Path(__file__).parent / "planted"
SERVER = Path(__file__).with_name("planted_server.py")
TABLE = Path(__file__).parents[2] / "reports" / "planted-faults.md"

Request = tuple[str, list[str], str]
"""A fault, the files of the suite to run, and what selects tests in them."""


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    code: int
    output: str
    report: dict[str, Any]


def run_suite(folder: Path, *arguments: str, **variables: str) -> Run:
    """Run `tg-conformance` and read its JSON report."""
    path = folder / "report.json"
    if "PYTHONPATH" in variables:
        variables["PYTHONPATH"] = joined(variables["PYTHONPATH"])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, "--report", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | variables,
    )
    report = json.loads(path.read_text()) if path.exists() else {}
    return Run(done.returncode, done.stdout + done.stderr, report)


def install_planted(folder: Path) -> str:
    """Install the planted backend below a folder; returns what has to be on PYTHONPATH."""
    metadata = folder / "tg_planted-1.0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tg-planted\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tg_core]\nplanted = tg_planted.plugin\n")
    return os.pathsep.join((str(folder), str(PLANTED)))


def joined(places: str) -> str:
    """Return entries of PYTHONPATH in front of those there are."""
    return os.pathsep.join(filter(None, (places, os.environ.get("PYTHONPATH"))))


def run_faults(
    device: str, variable: str, requests: Sequence[Request], places: str = ""
) -> dict[str, Any]:
    """Run the suite once for each request.

    Args:
        device: the type to test.
        variable: of the environment, names the fault.
        requests: what to run.
        places: further entries of PYTHONPATH.

    Returns:
        Code, report and output, by fault.
    """
    done = subprocess.run(
        [sys.executable, str(SERVER), device, variable],
        input=json.dumps(requests),
        env=os.environ | {"PYTHONPATH": joined(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {result["fault"]: result for result in found}


def shared_results(
    factory: pytest.TempPathFactory, name: str, find: Callable[[Path], dict[str, Any]]
) -> dict[str, Any]:
    """Return what a function finds, called once for all worker processes of a run."""
    folder = factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    place = folder / f"{name}.json"
    try:
        (folder / f"{name}.lock").touch(exist_ok=False)
    except FileExistsError:
        for _ in range(6000):
            if place.exists():
                break
            time.sleep(0.1)
    else:
        part = folder / f"{name}.part"
        part.write_text(json.dumps(find(folder / f"{name}-site")))
        part.rename(place)
    answer: dict[str, Any] = json.loads(place.read_text())
    return answer


def rows_of_table(device: str) -> list[str]:
    """Return the faults of a device that the committed table has."""
    section = TABLE.read_text().partition(f"## {device}")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if " | " in line]
    return [row.removeprefix("| ") for row in rows[1:]]
