"""Running a program with recording on."""

from __future__ import annotations

import contextlib
import runpy
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tg_core.codegen import clear_compiled
from tg_core.config import Context
from tg_core.engine.realize import clear_linked
from tg_core.schedule.schedule import clear_schedules
from tg_core.uop.record import recording
from tg_core.uop.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

INTERRUPTED = 130
"""Exit code of a process that a user interrupted: 128 + SIGINT, as shells have it."""


@dataclass(frozen=True)
class Outcome:
    """How a program ended, and what was recorded until then."""

    recorder: Recorder
    code: int
    """Exit code."""
    problem: str = ""
    """The last line of an error; empty when there was none."""


def run_script(script: Path, arguments: Sequence[str] = ()) -> Outcome:
    """Run a Python program as `python script arguments...` would, and record every rewrite.

    Nothing comes from a cache: what this process compiled before and what is on disk is ignored.
    An error of the program is printed as Python prints it, and what was recorded until then kept.

    Args:
        script: the program.
        arguments: its arguments.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not script.is_file():
        raise FileNotFoundError(f"{script}: no such file")
    clear_linked()
    clear_compiled()
    clear_schedules()
    code, problem = 0, ""
    with Context(CACHE=0), recording() as recorder, _as_main(script, arguments):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            code, problem = _exit_code(end)
        except KeyboardInterrupt:
            code, problem = INTERRUPTED, "interrupted"
        except Exception as error:
            _print_error(error, script)
            code, problem = 1, traceback.format_exception_only(error)[-1].strip()
    return Outcome(recorder, code, problem)


@contextlib.contextmanager
def _as_main(script: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Give the program the command line and the import path it would have on its own."""
    saved = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = saved


def _exit_code(end: SystemExit) -> tuple[int, str]:
    if end.code is None:
        return 0, ""
    if isinstance(end.code, int):
        return end.code, f"exit code {end.code}" if end.code else ""
    print(end.code, file=sys.stderr)
    return 1, str(end.code)


def _print_error(error: Exception, script: Path) -> None:
    """Print a traceback from the program's first frame on; how it was started is of no interest."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != str(script):
        frames = frames.tb_next
    # a program that does not even compile has no frame
    traceback.print_exception(type(error), error, frames)
