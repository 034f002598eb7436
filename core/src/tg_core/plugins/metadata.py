"""Entry points of installed distributions, read from their files.

`importlib.metadata` does the same, but importing it alone takes as long as all of core. It is left
to do the rest: packages in archives, and finders of other kinds than the one for folders.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["InstalledPoint", "installed_points", "installed_version"]

_SUFFIXES = (".dist-info", ".egg-info")


class InstalledPoint(NamedTuple):
    """One entry point."""

    distribution: str
    version: str
    name: str
    module: str


class _Distribution(NamedTuple):
    folder: str
    """Where its metadata are."""
    key: str
    """The name of its folder up to the version, which tells distributions apart."""


def installed_points(group: str) -> list[InstalledPoint]:
    """Return the entry points of a group, of all distributions.

    Source: Python Packaging User Guide, Entry points specification (File format), and Recording
        installed projects.
    """
    if not _only_folders():
        return _by_importlib(group)
    found = []
    for distribution in _distributions():
        text = _read(distribution.folder, "entry_points.txt")
        if text is None or f"[{group}]" not in text:
            continue
        name, version = _name_and_version(distribution)
        found += [InstalledPoint(name, version, *point) for point in _section(text, group)]
    return found


def installed_version(name: str) -> str:
    """Return the version of a distribution, the empty string where it is not installed.

    Args:
        name: as pip writes it.
    """
    if not _only_folders():
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version(name)
        except PackageNotFoundError:
            return ""
    for distribution in _distributions():
        if distribution.key == name.lower().replace("-", "_").replace(".", "_"):
            return _name_and_version(distribution)[1]
    return ""


def _by_importlib(group: str) -> list[InstalledPoint]:
    from importlib.metadata import entry_points

    found = []
    for point in entry_points(group=group):
        name, version = "unknown", ""
        if point.dist is not None:
            name, version = point.dist.name, point.dist.version
        found.append(InstalledPoint(name, version, point.name, point.module))
    return found


def _only_folders() -> bool:
    """Tell whether everything that is installed lies in folders."""
    if any(hasattr(f, "find_distributions") and f is not PathFinder for f in sys.meta_path):
        return False
    return not any(os.path.isfile(entry) for entry in sys.path)


def _distributions() -> Iterator[_Distribution]:
    """Yield the installed distributions; of equal names, the first on the path."""
    seen: set[str] = set()
    for entry in dict.fromkeys(sys.path):
        try:
            # most names belong to modules, and every process does this
            names = sorted([n for n in os.listdir(entry or ".") if n.endswith(_SUFFIXES)])
        except OSError:
            continue
        for name in names:
            stem = name.rpartition(".")[0]
            key = stem.partition("-")[0].lower().replace(".", "_")
            if key not in seen:
                seen.add(key)
                yield _Distribution(os.path.join(entry or ".", name), key)


def _read(folder: str, name: str) -> str | None:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    """Yield names and modules of a section."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{group}]"
        elif inside and line and line[0] not in "#;" and "=" in line:
            name, _, value = line.partition("=")
            # what follows is an attribute or extras, which plugins do not have
            yield name.strip(), value.strip().partition(":")[0].partition("[")[0].strip()


def _name_and_version(distribution: _Distribution) -> tuple[str, str]:
    """Return what the header of the metadata says."""
    text = _read(distribution.folder, "METADATA") or _read(distribution.folder, "PKG-INFO") or ""
    header = "\n" + text.partition("\n\n")[0]
    return _field(header, "Name") or "unknown", _field(header, "Version")


def _field(header: str, name: str) -> str:
    return header.partition(f"\n{name}: ")[2].partition("\n")[0]
