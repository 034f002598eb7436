"""What docs/backend-guide.md states is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generated import install_generated
from suite_runs import run_suite

from tg_conformance.expected import FILE_NAME
from tg_conformance.levels import LEVELS
from tg_conformance.runner import build_parser
from tg_core.plugins.scaffold import scaffold_files

GUIDE = (Path(__file__).parents[2] / "docs" / "backend-guide.md").read_text()


def test_every_level_is_in_the_table() -> None:
    for level in LEVELS:
        assert f"| {level.number} {level.title} | {level.question} |" in GUIDE


def test_every_file_is_in_the_table() -> None:
    files = [path for path in scaffold_files("acme") if path.startswith("src/tg_acme/")]
    for path in files:
        name = path.removeprefix("src/tg_acme/")
        assert name == "__init__.py" or f"| `{name}` |" in GUIDE


def test_options_and_names_are_as_written() -> None:
    options = {option for action in build_parser()._actions for option in action.option_strings}
    for option in ("--device", "--interface", "--level", "--report", "--require", "--thorough"):
        assert option in options
        assert option in GUIDE
    assert FILE_NAME in GUIDE


BLOCK = re.compile(r"<!-- (from|edit): (\S+) -->\n```(?:python|diff)\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall(GUIDE)
EDITS = [(path, text) for kind, path, text in BLOCKS if kind == "edit"]
SPOILED = "test_inputs_change_while_earlier_runs_go_on"


def edited(folder: Path, edits: list[tuple[str, str]]) -> None:
    """Make the changes of the guide, each at the one place that it fits."""
    for path, text in edits:
        lines = text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        source = (folder / path).read_text()
        assert source.count(before) == 1, (path, before)
        (folder / path).write_text(source.replace(before, after))


def test_code_is_that_of_the_generated_package() -> None:
    files = scaffold_files("acme")
    shown = [(path, text) for kind, path, text in BLOCKS if kind == "from"]
    assert len(shown) == 5
    for path, text in shown:
        assert text in files[path], text


@pytest.mark.parametrize("complete", [True, False])
def test_the_change_works_when_all_of_it_is_made(complete: bool, tmp_path: Path) -> None:
    folder = tmp_path / "tg-acme"
    places = install_generated("acme", folder)
    edited(folder, [e for e in EDITS if complete or "def barrier" not in e[1]])
    assert len(EDITS) == 6
    names = "inputs_change or random_graphs[0] or wraps"
    options = ["--device", "ACME", "--level", "3", "-k", names]
    run = run_suite(tmp_path, *options, PYTHONPATH=places)
    assert run.code == (0 if complete else 1), run.output
    if not complete:
        messages = [f["message"] for f in run.report["failures"] if SPOILED in f["test"]]
        assert messages
        assert "ACME COMPUTE:0 packet" in messages[0]
        assert "the arguments changed since they were cached, and no FLUSH came" in messages[0]
