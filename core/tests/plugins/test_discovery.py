"""Finding plugin modules."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from tg_core.plugins.discovery import blocks, find_plugins
from tg_core.plugins.records import PluginSource

BUILTIN = "tg_core.device.builtin"


def test_core_is_found_once_installed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for points in ([], [EntryPoint("builtin", BUILTIN, "tg_core")]):

        def entry_points(group: str, found: list[EntryPoint] = points) -> EntryPoints:
            assert group == "tg_core"
            return EntryPoints(found)

        monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
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
