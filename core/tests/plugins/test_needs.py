"""Needs of device types."""

from __future__ import annotations

import platform
from pathlib import Path

from tg_core.plugins import NeedsModule, NeedsPath, NeedsSystem


def test_module() -> None:
    assert NeedsModule("json").missing() is None
    assert NeedsModule("no_such_", "no-such").missing() == (
        "no Python module 'no_such_': pip install no-such"
    )
    assert NeedsModule("no_such_.deeper").missing() is not None


def test_path(tmp_path: Path) -> None:
    assert NeedsPath(str(tmp_path)).missing() is None
    missing = NeedsPath(str(tmp_path / "kfd"), "load the driver").missing()
    assert missing == f"{tmp_path}/kfd does not exist: load the driver"


def test_system() -> None:
    assert NeedsSystem(platform.system(), (platform.machine(),)).missing() is None
    assert NeedsSystem("Plan9").missing() == f"needs Plan9, this is {platform.system()}"
    assert "needs one of vax" in (NeedsSystem(platform.system(), ("vax",)).missing() or "")
