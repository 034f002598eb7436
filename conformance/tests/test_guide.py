"""What docs/backend-guide.md states is so."""

from __future__ import annotations

from pathlib import Path

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
    for option in ("--device", "--interface", "--level", "--report", "--require"):
        assert option in options
        assert option in GUIDE
    assert FILE_NAME in GUIDE
