"""Operations against dtypes: the part of a verdict that reads best as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_conformance.verdict import Case, Verdict

__all__ = ["Matrix", "matrix_of"]


@dataclass(frozen=True)
class Matrix:
    """One group of tests."""

    title: str
    dtypes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Case | None, ...]], ...]
    """Operation, and the test of each dtype."""


def matrix_of(verdict: Verdict) -> list[Matrix]:
    """Return a table for each test function that runs over operations and dtypes."""
    groups: dict[str, list[Case]] = {}
    for case in verdict.cases:
        if case.dtype:
            groups.setdefault(case.test.partition("[")[0], []).append(case)
    found = []
    for group, cases in groups.items():
        name = group.partition("::test_")[2].replace("_", " ")
        dtypes = tuple(dict.fromkeys(case.dtype for case in cases))
        operations = dict.fromkeys(case.operation or name for case in cases)
        by_place: dict[tuple[str, str], Case] = {}
        for case in cases:
            place = (case.operation or name, case.dtype)
            # of several tests of one place, one that did not pass is shown
            if place not in by_place or by_place[place].outcome == "passed":
                by_place[place] = case
        rows = tuple(
            (operation, tuple(by_place.get((operation, dtype)) for dtype in dtypes))
            for operation in operations
        )
        found.append(Matrix(name, dtypes, rows))
    return found
