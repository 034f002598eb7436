"""Running the suite in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = "import sys; from tg_conformance.runner import main; sys.exit(main(sys.argv[1:]))"
PLANTED = Path(__file__).parent / "planted"


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    code: int
    output: str
    report: dict[str, Any]


def run_suite(folder: Path, *arguments: str, **variables: str) -> Run:
    """Run `tg-conformance` and read its JSON report."""
    path = folder / "report.json"
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
