"""`VIZ=1` in a process of its own: recording begins with the import and is written at exit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMPUTE = "from tg_core import Tensor\nTensor([1.0, 2.0]).sum().tolist()\n"


def run(code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEV": "PYTHON", "VIZ_FILE": str(folder / "out.html"), **variables}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )


def test_the_page_is_written_at_exit(tmp_path: Path) -> None:
    done = run(f"{COMPUTE}raise SystemExit(3)", tmp_path, VIZ="1")
    assert done.returncode == 3
    assert done.stderr.startswith("VIZ: ") and "out.html" in done.stderr
    assert "lower-reduce-to-accumulators" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    done = run(COMPUTE, tmp_path, VIZ="1", VIZ_FILE=str(tmp_path / "taken" / "out.html"))
    assert done.returncode == 0
    assert done.stderr.startswith("VIZ: cannot write ")
    assert "Traceback" not in done.stderr


def test_a_process_that_computes_nothing_writes_nothing(tmp_path: Path) -> None:
    done = run("import tg_core", tmp_path, VIZ="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_off_is_off(tmp_path: Path) -> None:
    for value in ("", "0"):
        variables = {"VIZ": value} if value else {}
        code = (
            f"{COMPUTE}import sys; print([m for m in sys.modules if m.startswith('tg_core.viz')])"
        )
        done = run(code, tmp_path, **variables)
        assert (done.stdout, done.stderr) == ("[]\n", "")
    assert list(tmp_path.iterdir()) == []
