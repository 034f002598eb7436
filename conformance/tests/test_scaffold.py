"""A generated backend conforms as it is, installed into an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from suite_runs import run_suite

from tg_core.plugins.scaffold import write_backend


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated package, as an editable install leaves it."""
    folder = tmp_path_factory.mktemp("scaffold") / "tg-acme"
    write_backend("acme", folder)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / "src" / f"tg_acme-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["tg_core"]
    lines = [f"{name} = {module}" for name, module in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[tg_core]", *lines, ""]))
    return folder


def test_it_passes_discovery_and_memory(acme: Path, tmp_path: Path) -> None:
    options = ["--device", "ACME", "--level", "0-1"]
    run = run_suite(tmp_path, *options, PYTHONPATH=str(acme / "src"))
    assert run.code == 0, run.output
    assert run.report["level"] == 1
    assert run.report["interface"] == "MOCKACME"
    assert "ACME, opened through MOCKACME: level 1 reached" in " ".join(run.output.split())


@pytest.mark.parametrize(
    ("level", "expression"),
    [("2", "(int32 or float32) and (arithmetic or sums or movement or where)"), ("4-7", "core")],
)
def test_it_computes(acme: Path, tmp_path: Path, level: str, expression: str) -> None:
    """A part of the numbers, to be quick; CI of the package runs all of levels 0 to 2."""
    names = "replay or threads or several or time" if expression == "core" else expression
    options = ["--device", "ACME", "--level", level, "-k", names]
    run = run_suite(tmp_path, *options, PYTHONPATH=str(acme / "src"))
    assert run.code == 0, run.output
    assert run.report["failed"] == 0
    assert run.report["passed"] > 20


def test_its_own_tests_pass(acme: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=acme,
        env=os.environ | {"PYTHONPATH": str(acme / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
