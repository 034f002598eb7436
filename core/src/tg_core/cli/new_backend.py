"""`tg new-backend`: write a backend package that works as generated."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_new_backend_command"]


def add_new_backend_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add `new-backend` to the command line."""
    command = subparsers.add_parser(
        "new-backend",
        help="write a package with a device type of your own, which works as generated",
        description="Writes a backend package: device, queues, allocator, renderer, emulated "
        "interface, tests, tox and CI settings. docs/backend-guide.md goes on from there.",
    )
    command.add_argument("name", help="lower-case letters and digits, such as acme")
    command.add_argument("--folder", type=Path, help="where to write it; by default tg-NAME")
    command.add_argument(
        "--plain",
        action="store_true",
        help="without hardware queues: each kernel is launched by a call of the driver",
    )
    command.set_defaults(handler=run_new_backend)


def run_new_backend(arguments: argparse.Namespace) -> int:
    """Run `tg new-backend`.

    Raises:
        PluginError: the name has another form or is taken, or there is something in the folder.
    """
    from tg_core.errors import PluginError
    from tg_core.plugins.manager import plugins
    from tg_core.plugins.scaffold import ScaffoldNames, write_backend

    names = ScaffoldNames(arguments.name).values()
    catalog = plugins().catalog
    if catalog.type(names["type"]) is not None:
        owner = catalog.owner(names["type"]).source
        raise PluginError(f"new-backend: device type {names['type']} is registered by {owner}")
    folder = arguments.folder or Path(names["distribution"])
    written = write_backend(arguments.name, folder, arguments.plain)
    for path in written:
        print(f"wrote {path}")
    print(
        f"\nnext:\n  pip install -e '{folder}[test]'\n  tg devices\n"
        f"  tg-conformance --device {names['type']}"
    )
    return 0
