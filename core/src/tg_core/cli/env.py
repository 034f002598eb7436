"""`tg env`: versions, settings and places, for bug reports."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from typing import Any

__all__ = ["add_env_command", "collect_env"]

PACKAGES = ("tg-core", "numpy", "pluggy", "rich", "platformdirs")


def add_env_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `env` to the command line."""
    env = subparsers.add_parser("env", help="versions, context variables, cache locations")
    env.add_argument("--json", action="store_true", help="print JSON")
    env.set_defaults(handler=run_env)


def run_env(arguments: argparse.Namespace) -> int:
    """Run `tg env`."""
    found = collect_env()
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    from tg_core.cli.output import print_lines, print_table
    from tg_core.device.memory_pool import format_bytes

    print_table("versions", ("name", "version"), list(found["versions"].items()))
    variables = [
        (name, str(entry["value"]), "set" if entry["set"] else "", entry["doc"])
        for name, entry in found["variables"].items()
    ]
    print()
    print_table("context variables", ("name", "value", "", "meaning"), variables)
    print()
    caches = [
        (name, entry["path"], f"{entry['entries']} entries, {format_bytes(entry['bytes'])}")
        for name, entry in found["caches"].items()
    ]
    print_table("disk caches", ("name", "path", "size"), caches)
    for package, lines in found["reports"].items():
        print()
        print_lines(package, lines)
    return 0


def collect_env() -> dict[str, Any]:
    """Return what `tg env` shows, as plain data."""
    from tg_core.config import VARIABLES
    from tg_core.plugins.dispatch import report_headers
    from tg_core.plugins.manager import plugins
    from tg_core.plugins.markers import HOOK_VERSION

    versions = {"python": platform.python_version(), "platform": platform.platform()}
    versions["executable"] = sys.executable
    versions["hook version"] = ".".join(map(str, HOOK_VERSION))
    for package in PACKAGES:
        versions[package] = _version(package)
    manager = plugins()
    for source in [plugin.source for plugin in manager.catalog.plugins] + [
        failure.source for failure in manager.failures
    ]:
        versions.setdefault(source.distribution, source.version)
    return {
        "versions": versions,
        "variables": {
            name: {
                "value": variable.value,
                "default": variable.default,
                "set": variable.value != variable.default,
                "doc": variable.doc,
            }
            for name, variable in VARIABLES.items()
        },
        "caches": _caches(),
        "reports": dict(report_headers()),
    }


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _caches() -> dict[str, dict[str, Any]]:
    from tg_core.support.cache_folder import cache_folder, caches, folder_size

    folder = cache_folder()
    if folder is None:
        return {}
    found = {}
    for name, path in [("all", folder), *((cache.name, cache) for cache in caches())]:
        entries, nbytes = folder_size(path)
        found[name] = {"path": str(path), "entries": entries, "bytes": nbytes}
    return found
