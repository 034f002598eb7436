"""Which plugin modules are installed."""

from __future__ import annotations

import re

from tg_core.plugins.markers import ENTRY_POINT_GROUP
from tg_core.plugins.metadata import installed_points, installed_version
from tg_core.plugins.records import PluginSource

__all__ = ["blocks", "find_plugins"]

CORE_DISTRIBUTION = "tg-core"


def find_plugins(builtin_module: str) -> list[PluginSource]:
    """Read the entry points of every installed distribution; imports none of them.

    Args:
        builtin_module: core's own plugin module, which is always present, also in a source checkout
            that was never installed.
    """
    found = {_builtin(builtin_module)}
    for point in installed_points(ENTRY_POINT_GROUP):
        if point.module != builtin_module:
            found.add(PluginSource(point.distribution, point.name, point.module, point.version))
    return sorted(found)


def _builtin(module: str) -> PluginSource:
    version = installed_version(CORE_DISTRIBUTION)
    return PluginSource(CORE_DISTRIBUTION, "builtin", module, version, builtin=True)


def blocks(blocked: str, source: PluginSource) -> bool:
    """Return whether a list of names, as in `TG_BLOCK_PLUGINS`, names this plugin.

    Args:
        blocked: entry-point names or distribution names, separated by commas.
        source: the plugin.
    """
    names = {_normal(name) for name in blocked.split(",") if name.strip()}
    return bool(names & {_normal(source.name), _normal(source.distribution)})


def _normal(name: str) -> str:
    """Return a name as package indexes compare them (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
