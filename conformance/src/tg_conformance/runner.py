"""`tg-conformance --device NAME`: run the suite on one backend and say what was tested."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["main"]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="tg-conformance",
        description="Run the conformance suite of tg-core on one backend.",
        epilog="Further arguments go to pytest.",
    )
    parser.add_argument("--device", required=True, metavar="NAME", help="device type, e.g. CPU")
    parser.add_argument("--interface", metavar="NAME", help="interface, e.g. an emulated one")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite.

    Args:
        argv: the arguments after the program's name; those of the process where None.

    Returns:
        0 when every test passed, else pytest's exit code.
    """
    options, rest = build_parser().parse_known_args(argv)
    arguments = ["--pyargs", "tg_conformance.suite", "-p", "no:cacheprovider"]
    arguments += ["--tg-device", options.device]
    if options.interface is not None:
        arguments += ["--tg-interface", options.interface]
    # In a process of its own: pytest rewrites the assertions of this package, but not of modules
    # that are imported already, as this one is.
    return subprocess.call([sys.executable, "-m", "pytest", *arguments, *rest])
