"""What became of each test, and what that says about the backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tg_conformance.levels import FEATURES, LEVELS, Level

if TYPE_CHECKING:
    from tg_conformance.thorough import Amount

__all__ = ["Case", "LevelResult", "Outcome", "Verdict"]

Outcome = Literal["passed", "failed", "xfailed", "undeclared"]


@dataclass(frozen=True)
class Case:
    """One test and what became of it."""

    test: str
    """File and name, as in a list of expected failures."""
    level: int
    mandatory: bool
    outcome: Outcome
    message: str = ""
    """Why it failed, was expected to, or did not apply."""
    operation: str = ""
    dtype: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class LevelResult:
    """The sums of one level."""

    level: Level
    cases: tuple[Case, ...]
    applies: bool = True
    """Whether the level is for the backend at all; where it is, its core must pass."""

    def count(self, outcome: Outcome) -> int:
        """Return how many tests came out this way."""
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def reached(self) -> bool:
        """Whether nothing failed and the mandatory core passed; true where it does not apply."""
        core = all(case.outcome == "passed" for case in self.cases if case.mandatory)
        fine = core or not self.applies
        return bool(self.cases) and fine and not self.count("failed")


@dataclass(frozen=True)
class Verdict:
    """The result of a run."""

    device: str
    interface: str | None
    cases: tuple[Case, ...]
    declared: frozenset[str] = field(default_factory=frozenset)
    thorough: Amount | None = None
    """How many random graphs were tried, in a thorough run."""
    problems: tuple[str, ...] = ()
    """What is wrong beside the tests: a required capability that is not declared."""

    @property
    def levels(self) -> tuple[LevelResult, ...]:
        """The levels that were run."""
        results = []
        for level in LEVELS:
            cases = tuple(case for case in self.cases if case.level == level.number)
            if cases:
                applies = level.condition in ("", *self.declared)
                results.append(LevelResult(level, cases, applies))
        return tuple(results)

    @property
    def level(self) -> int | None:
        """The highest level that is reached together with all below; None if that is none."""
        reached = None
        for number, result in enumerate(self.levels):
            if result.level.number != number or not result.reached:
                break
            reached = number
        return reached

    def count(self, outcome: Outcome) -> int:
        """Return how many tests came out this way."""
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def undeclared(self) -> list[str]:
        """The features the backend does not offer."""
        return [name for name in FEATURES if name not in self.declared]

    @property
    def offered(self) -> list[str]:
        """The features the backend offers, of those the suite knows."""
        return [name for name in FEATURES if name in self.declared]

    def of(self, outcome: Outcome) -> Iterable[Case]:
        """Return the tests that came out this way."""
        return (case for case in self.cases if case.outcome == outcome)

    def headline(self) -> str:
        """Return the verdict in one line."""
        reached = "no level" if self.level is None else f"level {self.level}"
        through = f"through {self.interface}" if self.interface else "directly"
        return (
            f"{self.device}, opened {through}: {reached} reached; {self.count('passed')} passed, "
            f"{self.count('failed')} failed, {self.count('xfailed')} expected failures; "
            f"{len(self.offered)} of {len(FEATURES)} capabilities"
        )
