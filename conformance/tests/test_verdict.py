"""What levels are reached."""

from __future__ import annotations

import pytest

from tg_conformance.verdict import Case, Outcome, Verdict


def verdict(outcome: Outcome, level: int, *declared: str, mandatory: bool = True) -> Verdict:
    below = [Case(f"t{n}", n, True, "passed") for n in range(level)]
    case = Case("t", level, mandatory, outcome)
    return Verdict("X", None, (*below, case), frozenset(declared))


@pytest.mark.parametrize(
    ("outcome", "reached"),
    [("passed", 2), ("failed", 1), ("xfailed", 1), ("undeclared", 1)],
)
def test_the_core_of_a_level_must_pass(outcome: Outcome, reached: int) -> None:
    assert verdict(outcome, 2).level == reached


@pytest.mark.parametrize(
    ("outcome", "reached"),
    [("passed", 2), ("failed", 1), ("xfailed", 2), ("undeclared", 2)],
)
def test_beyond_the_core_only_failures_count(outcome: Outcome, reached: int) -> None:
    assert verdict(outcome, 2, mandatory=False).level == reached


def test_the_core_of_queues_is_for_those_that_have_them() -> None:
    assert verdict("undeclared", 3).level == 3
    assert verdict("undeclared", 3, "QUEUES").level == 2
    assert verdict("failed", 3).level == 2
