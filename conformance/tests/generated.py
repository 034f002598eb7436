"""Generated backends, as an editable install leaves them."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tg_core.plugins.scaffold import write_backend


def install_generated(name: str, folder: Path, plain: bool = False) -> str:
    """Write a backend below a folder; returns what has to be on PYTHONPATH."""
    write_backend(name, folder, plain)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / "src" / f"tg_{name}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["tg_core"]
    lines = [f"{entry} = {module}" for entry, module in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[tg_core]", *lines, ""]))
    return str(folder / "src")
