"""Measuring frameworks in turns: each in a process of its own, all in one run.

Whatever else the machine does meets all of them alike, so ratios mean more than times.
"""

from __future__ import annotations

import json
import os
import platform
import selectors
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

__all__ = [
    "Worker",
    "answer_rounds",
    "environment",
    "machine",
    "medians",
    "ratio",
    "run_limited",
    "write_json",
]


class Worker:
    """A process that measures one framework whenever it is asked to.

    Args:
        name: the framework.
        command: starts the process, which calls `answer_rounds`.
        limit: the longest that it may take to start or to answer, in seconds.
    """

    def __init__(self, name: str, command: list[str], limit: float) -> None:
        self.name, self.limit = name, limit
        self.error = ""
        self.rounds: list[dict[str, float]] = []
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._answer()

    def measure(self) -> None:
        """Have one more round measured; nothing once the process has failed."""
        if self.error:
            return
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(b"go\n")
            stdin.flush()
        except BrokenPipeError:
            self._fail("ended early")
            return
        found = self._answer()
        if found is not None:
            self.rounds.append(found)

    def close(self) -> None:
        """End the process."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def _answer(self) -> Any:
        line = _line_within(self.process.stdout, self.limit)
        if line:
            return json.loads(line)
        if line is None:
            self._fail(f"no answer in {self.limit:g} s")
        else:
            assert self.process.stderr is not None
            self._fail(self.process.stderr.read().decode(errors="replace")[-2000:])
        return None

    def _fail(self, why: str) -> None:
        self.error = why
        self.process.kill()
        print(f"{self.name}: {why}", file=sys.stderr)


def _line_within(stream: IO[bytes] | None, limit: float) -> bytes | None:
    """Return the next line, None when it takes too long, nothing at the end."""
    assert stream is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline() if selector.select(limit) else None


def answer_rounds(measure: Any) -> None:
    """Be the other side of a `Worker`: call `measure` for each round, and print what it returns."""
    out = sys.stdout
    sys.stdout = sys.stderr
    print(json.dumps("ready"), file=out, flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure()), file=out, flush=True)


def run_limited(command: list[str], limit: float, **more: Any) -> tuple[str, float, str]:
    """Run a process.

    Returns:
        What it printed until it ended or the limit was over, the seconds it took, and what went
        wrong if anything did.
    """
    start = time.perf_counter()
    try:
        done = subprocess.run(command, timeout=limit, capture_output=True, text=True, **more)
    except subprocess.TimeoutExpired as error:
        printed = error.stdout or b""
        text = printed.decode(errors="replace") if isinstance(printed, bytes) else printed
        return text, limit, f"not done in {limit:g} s"
    took = time.perf_counter() - start
    return done.stdout, took, done.stderr[-2000:] if done.returncode else ""


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    names = dict.fromkeys(name for found in rounds for name in found)
    return {n: statistics.median([found[n] for found in rounds if n in found]) for n in names}


def ratio(a: float | None, b: float | None) -> float | None:
    """Return `a / b`, None where either is missing."""
    return None if not a or not b else round(a / b, 4)


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a process that is measured from its start, whose bytecode is to be
    kept as that of installed packages is.
    """
    return {**{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}, **more}


def machine() -> dict[str, str]:
    """Return what the figures belong to."""
    return {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }


def write_json(report: Any, path: Path | None) -> None:
    """Write what there is so far; a later call replaces it as a whole."""
    if path is None:
        return
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(report, indent=1) + "\n")
    temporary.replace(path)
