"""`tg-conformance --device NAME`: run the suite on one backend and say what was tested."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

__all__ = ["main"]

SETTINGS = Path(__file__).with_name("suite") / "pytest.ini"
"""The suite's own settings: those of the folder it is started in must not reach it."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="tg-conformance",
        description="Run the conformance suite of tg-core on one backend.",
        epilog="Further arguments go to pytest. The exit code is 0 when nothing failed.",
    )
    parser.add_argument(
        "--device",
        required=True,
        action="append",
        metavar="NAME",
        help="device type, e.g. CPU; may be repeated: one run for each",
    )
    parser.add_argument("--interface", metavar="NAME", help="interface, e.g. an emulated one")
    parser.add_argument(
        "--level", action="append", default=[], metavar="N", help="level, or levels: 2, 0-2"
    )
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FILE",
        help="write a report; its ending is html, json or xml; {device} in its name stands for the "
        "device; may be repeated",
    )
    parser.add_argument(
        "--expected-failures",
        metavar="FILE",
        help="by default conformance-xfail.txt beside the backend's plugin module",
    )
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="NAMES",
        help="capabilities that must be declared, separated by commas",
    )
    parser.add_argument(
        "--thorough", action="store_true", help="thousands of random graphs instead of a few"
    )
    parser.add_argument(
        "-n",
        "--jobs",
        type=number_of_jobs,
        default="1",
        metavar="N",
        help="run the tests in N processes, or in one for each core: auto; needs pytest-xdist",
    )
    return parser


def number_of_jobs(text: str) -> str:
    """Return a number of processes as pytest-xdist takes it.

    Raises:
        argparse.ArgumentTypeError: it is none, or pytest-xdist is missing.
    """
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 1 on, or auto")
    if text == "auto" or int(text) > 1:
        if find_spec("xdist") is None:
            raise argparse.ArgumentTypeError("several need pytest-xdist: pip install pytest-xdist")
    return text if text == "auto" else str(int(text))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suite.

    Args:
        argv: the arguments after the program's name; those of the process where None.

    Returns:
        0 when nothing failed, else the exit code of pytest, or the number of the signal that ended
        it, for the first device that failed.
    """
    options, rest = build_parser().parse_known_args(argv)
    codes = [run_device(device, options, rest) for device in options.device]
    return next((code for code in codes if code), 0)


def run_device(device: str, options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the suite on one device; returns pytest's exit code.

    Args:
        device: its type.
        options: of the command line.
        rest: further arguments of pytest.
    """
    # given first, so that pytest resolves paths among further arguments after its own settings
    arguments = ["-c", str(SETTINGS), "--rootdir", str(SETTINGS.parent), str(SETTINGS.parent)]
    arguments += ["-p", "tg_conformance.pytest_plugin", "-q", "--tg-device", device]
    if options.jobs != "1":
        arguments += ["-p", "xdist.plugin", "--numprocesses", options.jobs]
    if options.interface is not None:
        arguments += ["--tg-interface", options.interface]
    if options.expected_failures is not None:
        arguments += ["--tg-expected", os.path.abspath(options.expected_failures)]
    for level in options.level:
        arguments += ["--tg-level", level]
    for path in options.report:
        named = path.replace("{device}", device.lower())
        arguments += ["--tg-report", os.path.abspath(named)]
    for names in options.require:
        arguments += ["--tg-require", names]
    if options.thorough:
        arguments.append("--tg-thorough")
    # In a process of its own: pytest rewrites the assertions of this package, but not of modules
    # that are imported already, as this one is. The cache is its own too: nothing that an earlier
    # run compiled is tested, and nothing compiled here is left behind.
    with tempfile.TemporaryDirectory(prefix="tg-conformance-") as folder:
        code = subprocess.call(
            [sys.executable, "-m", "pytest", *arguments, *rest],
            # whatever else is installed for pytest has no say here
            env={**os.environ, "TG_CACHE_DIR": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
    if code < 0:
        name = signal.Signals(-code).name
        print(f"tg-conformance: {device}: FAILED: {name} ended the run, without a report")
    return abs(code)
