"""Entry points read from files, against what `importlib.metadata` finds."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import distributions, entry_points, version
from pathlib import Path

import pytest

from tg_core.plugins import metadata
from tg_core.plugins.metadata import InstalledPoint, installed_points, installed_version


def wheel(folder: Path, name: str, version: str, points: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: in the text\n"
    (info / "METADATA").write_text(text)
    (info / "entry_points.txt").write_text(points)


@pytest.mark.parametrize("group", ["tg_core", "pytest11", "console_scripts", "nothing"])
def test_the_same_as_importlib_finds(group: str) -> None:
    found = {(p.name, p.module) for p in installed_points(group)}
    assert found == {(p.name, p.module) for p in entry_points(group=group)}


def test_versions_are_those_that_importlib_finds() -> None:
    for name in sorted({d.name for d in distributions()}):
        assert installed_version(name) == version(name), name
    assert installed_version("not-installed") == ""


def test_of_equal_names_the_first_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    wheel(old, "tg-x", "1.0", "[tg_core]\nx = old_x\ny = old_y\n")
    wheel(new, "tg-x", "2.0", "[other]\nz = z\n[tg_core]\n# why\nx = new_x:attribute [extra]\n")
    monkeypatch.setattr(sys, "path", [str(new), str(tmp_path / "missing"), str(old)])
    assert installed_points("tg_core") == [InstalledPoint("tg-x", "2.0", "x", "new_x")]


def test_archives_and_other_finders_are_left_to_importlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "in", "tg-z", "3.0", "[tg_core]\nz = tg_z\n")
    archive = tmp_path / "z.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((tmp_path / "in").rglob("*")):
            file.write(path, path.relative_to(tmp_path / "in"))
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert installed_points("tg_core") == [InstalledPoint("tg-z", "3.0", "z", "tg_z")]
    assert installed_version("tg-z") == "3.0"
    assert installed_version("tg-none") == ""

    class Finder:
        def find_distributions(self) -> None:
            raise AssertionError

    monkeypatch.setattr(sys, "path", [])
    assert metadata._only_folders()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert not metadata._only_folders()
