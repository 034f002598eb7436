"""The `tg` command: finds the subcommand, and turns errors into one line."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from tg_core import __version__
from tg_core.cli.commands import COMMANDS
from tg_core.errors import TGError

__all__ = ["main"]

INTERRUPTED = 130
"""Exit code of a process that a user interrupted: 128 + SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tg`.

    Args:
        arguments: the command line without the program; by default that of the process.

    Returns:
        The exit code: 0, 1 for an error, 2 for a wrong command line, 130 when interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        print("\ntg: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output is gone, as with `tg devices | head`; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (TGError, OSError) as error:
        if _wants_traceback():
            traceback.print_exc()
        print(f"tg: error: {error}", file=sys.stderr)
        return 1


def _wants_traceback() -> bool:
    # a value that cannot be parsed is itself an error to report, at the import of the settings
    from tg_core.errors import ConfigError

    try:
        from tg_core.config import DEBUG
    except ConfigError:
        return False
    return bool(DEBUG)


def _run(given: list[str]) -> int:
    name = given[0] if given else ""
    if name and not name.startswith("-") and name not in {command.name for command in COMMANDS}:
        code = _run_plugin_command(name, given[1:])
        if code is not None:
            return code
    parser = _parser(help_wanted=not given or name in ("-h", "--help"))
    if not given:
        parser.print_help()
        return 0
    own, rest = _split(given)
    parsed = parser.parse_args(own)
    if "program_arguments" in parsed:
        parsed.program_arguments = rest
    elif rest:
        parser.error(f"unrecognized arguments: -- {' '.join(rest)}")
    code = parsed.handler(parsed)
    return int(code or 0)


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    """Split a command line at its first `--`: what follows is for a program that a command runs."""
    if "--" not in given:
        return given, []
    position = given.index("--")
    return given[:position], given[position + 1 :]


def _parser(help_wanted: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tg",
        description="A tensor compiler whose hardware backends are separately installed packages.",
        epilog=_plugin_help() if help_wanted else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tg {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.load()(subparsers)
    return parser


def _plugin_help() -> str | None:
    from tg_core.plugins.manager import plugins

    commands = plugins().catalog.commands()
    if not commands:
        return None
    lines = [f"  {name:<20} from {source}" for name, (_, source) in sorted(commands.items())]
    return "\n".join(["commands of plugins:", *lines])


def _run_plugin_command(name: str, rest: list[str]) -> int | None:
    """Run a subcommand that a plugin brings; None if there is none of that name."""
    from tg_core.plugins.manager import plugins

    entry = plugins().catalog.commands().get(name)
    if entry is None:
        return None
    return int(entry[0].app.load()(rest) or 0)
