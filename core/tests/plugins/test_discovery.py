"""Finding plugin modules."""

from __future__ import annotations

import pytest

from tg_core.plugins import discovery
from tg_core.plugins.discovery import blocks, find_plugins
from tg_core.plugins.metadata import InstalledPoint
from tg_core.plugins.records import PluginSource

BUILTIN = "tg_core.device.builtin"


def test_core_is_found_once_installed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for points in ([], [InstalledPoint("tg-core", "1", "builtin", BUILTIN)]):
        monkeypatch.setattr(discovery, "installed_points", {"tg_core": points}.__getitem__)
        sources = find_plugins(BUILTIN)
        assert [(source.module, source.builtin) for source in sources] == [(BUILTIN, True)]


def test_the_installed_ones_are_found() -> None:
    modules = [source.module for source in find_plugins(BUILTIN)]
    assert BUILTIN in modules
    assert modules.count(BUILTIN) == 1


@pytest.mark.parametrize(
    ("blocked", "expected"),
    [
        ("", False),
        (",", False),
        ("cpu", True),
        ("CPU", True),
        ("tg-cpu", True),
        ("tg_cpu", True),
        ("amd,cpu", True),
        ("tg", False),
    ],
)
def test_blocks(blocked: str, expected: bool) -> None:
    assert blocks(blocked, PluginSource("tg-cpu", "cpu", "tg_cpu.plugin")) is expected
