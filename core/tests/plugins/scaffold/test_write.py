"""What `tg new-backend` writes."""

from __future__ import annotations

import ast
import configparser
import tomllib
from pathlib import Path

import pytest

from tg_core.cli import main
from tg_core.errors import PluginError
from tg_core.plugins.markers import HOOK_VERSION
from tg_core.plugins.scaffold import scaffold_files, write_backend


@pytest.mark.parametrize("plain", [False, True])
def test_the_files_are_named_after_the_backend(plain: bool) -> None:
    files = scaffold_files("acme", plain)
    assert ("src/tg_acme/queue.py" in files) is not plain
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == "tg-acme"
    # host programs of queues are compiled for the CPU
    assert any(needed.startswith("tg-cpu") for needed in project["dependencies"]) is not plain
    assert project["entry-points"]["tg_core"] == {"acme": "tg_acme.plugin"}
    assert f"TG_HOOK_VERSION = {HOOK_VERSION}" in files["src/tg_acme/plugin.py"]
    assert not [path for path in files if "$" in path]
    for path, text in files.items():
        assert "$" not in text.replace("${{ matrix.env }}", ""), path
        if path.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) <= 100, path


def test_tox_runs_the_conformance_suite() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read_string(scaffold_files("acme")["tox.ini"])
    assert "tg-conformance --device ACME" in tox["testenv:conformance"]["commands"]
    assert {"tests", "conformance"} <= set(tox["tox"]["env_list"].replace(" ", "").split(","))


def test_it_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tg-acme"
    assert main(["new-backend", "acme", "--folder", str(folder)]) == 0
    assert "tg-conformance --device ACME" in capsys.readouterr().out
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert found == set(scaffold_files("acme"))
    with pytest.raises(PluginError, match="not an empty folder"):
        write_backend("acme", folder)


@pytest.mark.parametrize("name", ["", "Acme", "my-chip", "9lives", "a" * 13, "../x"])
def test_other_names_invalid(name: str) -> None:
    with pytest.raises(PluginError, match="lower-case letters"):
        scaffold_files(name)


def test_a_type_that_exists_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-backend", "python"]) == 1
    assert "PYTHON is registered by tg-core" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
