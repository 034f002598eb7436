"""`tg devices`: what is installed, what works, and why the rest does not."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["add_devices_command", "collect_devices"]


def add_devices_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `devices` to the command line."""
    devices = subparsers.add_parser(
        "devices",
        help="each device, its interfaces and renderers, and why one is unavailable",
        description="Tries every installed device type, each in a process of its own.",
    )
    devices.add_argument("--json", action="store_true", help="print JSON")
    devices.set_defaults(handler=run_devices)


def run_devices(arguments: argparse.Namespace) -> int:
    """Run `tg devices`: 0 if there is a default device, else 1."""
    from tg_core.cli.output import busy

    with busy("trying each device"):
        found = collect_devices()
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        _print(found)
    return 0 if found["default"] is not None else 1


def collect_devices() -> dict[str, Any]:
    """Try every device type, and return what `tg devices` shows as plain data."""
    from tg_core.cli.probe import result_of, start_probe
    from tg_core.config import DEV
    from tg_core.device.target import parse_targets
    from tg_core.plugins.known import KNOWN_TYPES
    from tg_core.plugins.manager import plugins

    manager = plugins()
    catalog = manager.catalog
    targets = parse_targets(DEV.value)
    records = catalog.types()
    # All at once: a slow driver does not hold up the others.
    probes = {
        record.name: start_probe(record.name)
        for record in records
        if not _missing(record) and not _persistent(catalog, record.name)
    }
    devices = []
    for record in records:
        entry = _describe(catalog, record)
        if record.name in probes:
            entry |= result_of(probes[record.name])
        else:
            entry |= {"ok": not _missing(record), "reason": "; ".join(_missing(record))}
        devices.append(entry)
    default = _default([target.type for target in targets], devices)
    for entry in devices:
        entry["default"] = entry["name"] == default
    failed = {failure.source.distribution for failure in manager.failures}
    return {
        "default": default,
        "DEV": DEV.value,
        "devices": devices,
        "plugins_not_in_use": [
            {
                "distribution": failure.source.distribution,
                "version": failure.source.version,
                "plugin": failure.source.name,
                "blocked": failure.blocked,
                "reason": failure.reason,
            }
            for failure in manager.failures
        ],
        "not_installed": {
            name: f"pip install {package}"
            for name, package in KNOWN_TYPES.items()
            if catalog.type(name) is None and package not in failed
        },
    }


def _describe(catalog: Any, record: Any) -> dict[str, Any]:
    return {
        "name": record.name,
        "description": record.description,
        "priority": record.priority,
        "plugin": str(catalog.owner(record.name).source),
        "extensions": [str(plugin.source) for plugin in catalog.extensions(record.name)],
        "interfaces": [
            {"name": each.name, "emulated": each.emulated}
            for each in catalog.interfaces(record.name)
        ],
        "renderers": [each.name for each in catalog.renderers(record.name)],
        "capabilities": sorted(each.name for each in catalog.capabilities(record.name)),
        "ok": False,
        "reason": "",
        "interface": None,
        "arch": "",
        "check": "",
    }


def _missing(record: Any) -> list[str]:
    return [reason for need in record.needs if (reason := need.missing()) is not None]


def _persistent(catalog: Any, name: str) -> bool:
    from tg_core.plugins import Capability

    # There is nothing to open before a location is named.
    return Capability.PERSISTENT in catalog.capabilities(name)


def _default(wanted: list[str], devices: list[dict[str, Any]]) -> str | None:
    """Return the default device by the rule of `Device.DEFAULT`, from what the probes found."""
    names = [entry["name"] for entry in devices]
    if wanted:
        return wanted[0] if wanted[0] in names else None
    usable = [entry["name"] for entry in devices if entry["ok"] and entry["priority"] >= 0]
    return usable[0] if usable else None


def _print(found: dict[str, Any]) -> None:
    from tg_core.cli.output import print_lines, print_table

    rows = []
    for entry in found["devices"]:
        interfaces = [
            f"{each['name']} (emulated)" if each["emulated"] else each["name"]
            for each in entry["interfaces"]
        ]
        rows.append(
            (
                entry["name"],
                "PASS" if entry["ok"] else "FAIL",
                "default" if entry["default"] else "",
                ", ".join(interfaces) or "-",
                ", ".join(entry["renderers"]) or "-",
                " + ".join([entry["plugin"], *entry["extensions"]]),
                _details(entry),
            )
        )
    columns = ("device", "status", "", "interfaces", "renderers", "package", "details")
    print_table("devices", columns, rows)
    print_lines(
        "plugins not in use:",
        [
            f"{each['distribution']} {each['version']} ({each['plugin']}): {each['reason']}"
            for each in found["plugins_not_in_use"]
        ],
    )
    print_lines(
        "not installed:", [f"{name}: {line}" for name, line in found["not_installed"].items()]
    )
    if found["default"] is None:
        print("no device can be used by default")


def _details(entry: dict[str, Any]) -> str:
    if not entry["ok"]:
        return str(entry["reason"])
    parts = [entry["description"]]
    if entry["arch"]:
        parts.append(entry["arch"])
    if entry["interface"]:
        parts.append(f"over {entry['interface']}")
    return ", ".join(part for part in parts if part)
