"""The backend's own list of failures it knows about: exact, with a reason for each.

One test a line, `#`, and the reason:

    test_level2_unary.py::test_unary[sin-float64]  # the unit has no double precision

A line without a reason, a line that names no test, a line that names a mandatory test, and a test
that passes although it is listed are all failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILE_NAME", "ExpectedFailures", "read_expected"]

FILE_NAME = "conformance-xfail.txt"
"""Looked for beside the backend's plugin module when no file is named."""


@dataclass(frozen=True)
class ExpectedFailures:
    """The lines of one file."""

    path: str
    reasons: dict[str, str]
    """Reason by test."""
    problems: tuple[str, ...]
    """What is wrong with the file itself."""


def read_expected(path: Path | None) -> ExpectedFailures:
    """Read a file of expected failures; None stands for an empty one.

    Raises:
        OSError: the file cannot be read.
    """
    if path is None:
        return ExpectedFailures("", {}, ())
    reasons: dict[str, str] = {}
    problems: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        test, _, reason = (part.strip() for part in line.partition("#"))
        if not reason:
            problems.append(f"{path}:{number}: {test}: no reason given")
        if test in reasons:
            problems.append(f"{path}:{number}: {test}: listed twice")
        reasons[test] = reason
    return ExpectedFailures(str(path), reasons, tuple(problems))


def misuse(expected: ExpectedFailures, tests: dict[str, bool]) -> list[str]:
    """Return what is wrong with a list, given every test of the suite.

    Args:
        expected: the list.
        tests: for each test, whether it is mandatory.
    """
    found = list(expected.problems)
    for test in expected.reasons:
        if test not in tests:
            found.append(f"{expected.path}: {test}: names no test of the suite")
        elif tests[test]:
            found.append(f"{expected.path}: {test}: is mandatory and cannot be an expected failure")
    return found
