"""`tg explain`: run a program, and show every rewrite of every schedule and kernel."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_explain_command", "run_explain"]

LINES = 20


def add_explain_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `explain` to the command line."""
    explain = subparsers.add_parser(
        "explain",
        help="run a program and show every rewrite of every schedule and kernel",
        description="Runs a program, without caches, and lists each stage of each schedule and"
        " kernel: the graph before and after, and which rule fired where.",
        epilog="what follows -- are arguments of the program",
    )
    explain.add_argument("script", type=Path, help="a Python program")
    explain.add_argument("--html", type=Path, metavar="FILE", help="write a page that shows it all")
    explain.add_argument(
        "--kernel",
        type=_positive,
        metavar="N",
        help="only this kernel, counted from 1, with its source and assembly",
    )
    explain.add_argument(
        "--lines",
        type=_natural,
        default=LINES,
        metavar="N",
        help=f"lines of each change on the terminal ({LINES})",
    )
    explain.set_defaults(handler=run_explain, program_arguments=[])


def run_explain(arguments: argparse.Namespace) -> int:
    """Run `tg explain`: the exit code of the program, or 1 when there is no such kernel."""
    from tg_core.errors import ConfigError
    from tg_core.viz.page import write_page
    from tg_core.viz.report import build_report
    from tg_core.viz.run_script import run_script
    from tg_core.viz.terminal import print_report

    outcome = run_script(arguments.script, arguments.program_arguments)
    title = arguments.script.name
    report = build_report(outcome.recorder, title, outcome.problem, arguments.kernel)
    kernels = sum(section.kind == "kernel" for section in outcome.recorder.sections)
    if arguments.kernel is not None and not report.stages and not outcome.problem:
        raise ConfigError(f"--kernel {arguments.kernel}: the program compiled {kernels} kernels")
    print_report(report, arguments.lines, code=arguments.kernel is not None)
    if arguments.html is not None:
        write_page(report, arguments.html)
        print(f"wrote {arguments.html}")
    return outcome.code


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"expected 0 or more, found {text}")
    return number
