"""Filling in the templates and writing them out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from tg_core.errors import PluginError
from tg_core.plugins.markers import HOOK_VERSION

__all__ = ["ScaffoldNames", "scaffold_files", "write_backend"]

_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")

TEMPLATES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "tox.ini": "tox.ini",
    "gitignore": ".gitignore",
    "ci.yml": ".github/workflows/ci.yml",
    "init.py": "src/$package/__init__.py",
    "plugin.py": "src/$package/plugin.py",
    "packets.py": "src/$package/packets.py",
    "queue.py": "src/$package/queue.py",
    "device.py": "src/$package/device.py",
    "memory.py": "src/$package/memory.py",
    "renderer.py": "src/$package/renderer.py",
    "uapi.py": "src/$package/uapi.py",
    "interface.py": "src/$package/interface.py",
    "mock.py": "src/$package/mock.py",
    "hardware.py": "src/$package/hardware.py",
    "expected.txt": "src/$package/conformance-xfail.txt",
    "test_device.py": "tests/test_device.py",
}
"""Each template and the file it becomes."""

QUEUE_ONLY = ("packets.py", "queue.py", "hardware.py")
"""Templates that a backend without queues has no use for."""

PLAIN = (
    "README.md",
    "plugin.py",
    "device.py",
    "memory.py",
    "uapi.py",
    "interface.py",
    "mock.py",
    "test_device.py",
)
"""Templates of which such a backend has its own, in the folder `plain`."""


@dataclass(frozen=True)
class ScaffoldNames:
    """The names of a backend, all from one.

    Raises:
        PluginError: the name is not of that form.
    """

    name: str
    """Lower case, at most 12 letters and digits, such as `acme`."""

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise PluginError(
                f"new-backend: name {self.name!r}, expected at most 12 lower-case letters "
                "and digits, a letter first, such as acme"
            )

    def values(self) -> dict[str, str]:
        """Return what the templates are filled in with."""
        from tg_core import __version__

        major, minor = (int(part) for part in __version__.split(".")[:2])
        return {
            "name": self.name,
            "type": self.name.upper(),
            "mock": f"MOCK{self.name.upper()}",
            "prefix": self.name.capitalize(),
            "package": f"tg_{self.name}",
            "distribution": f"tg-{self.name}",
            "hook_version": str(HOOK_VERSION),
            "core_range": f">={major}.{minor},<{major}.{minor + 1}",
        }


def scaffold_files(name: str, plain: bool = False) -> dict[str, str]:
    """Return the files of a new backend by their path.

    Args:
        name: lower-case letters and digits, such as `acme`.
        plain: without hardware queues: each kernel is launched by a call of the driver.

    Raises:
        PluginError: the name has another form.
    """
    values = ScaffoldNames(name).values()
    needed = ["tg-core"] if plain else ["tg-core", "tg-cpu"]
    ranges = [f'"{package}{values["core_range"]}"' for package in needed]
    values["dependencies"] = ", ".join(ranges)
    folder = files("tg_core.plugins.scaffold") / "templates"
    found = {}
    for template, target in TEMPLATES.items():
        if plain and template in QUEUE_ONLY:
            continue
        place = folder / "plain" if plain and template in PLAIN else folder
        text = (place / f"{template}.in").read_text(encoding="utf-8")
        found[Template(target).substitute(values)] = Template(text).substitute(values)
    return found


def write_backend(name: str, folder: Path, plain: bool = False) -> list[Path]:
    """Write a new backend.

    Args:
        name: lower-case letters and digits, such as `acme`.
        folder: where; it must be absent or empty.
        plain: without hardware queues.

    Returns:
        The files that were written.

    Raises:
        PluginError: the name has another form, or there is something in the folder.
        OSError: the folder cannot be written.
    """
    contents = scaffold_files(name, plain)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PluginError(f"new-backend: {folder} exists and is not an empty folder")
    written = []
    for target, text in contents.items():
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
