"""The tests that a run is to make, which a process of its own may have collected."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Plan", "Planned", "read_plan", "write_plan"]


@dataclass(frozen=True)
class Planned:
    """What is known of a test before it runs."""

    level: int
    mandatory: bool
    condition: tuple[str, ...] = ()
    """The features without which it is not mandatory."""
    operation: str = ""
    dtype: str = ""


@dataclass
class Plan:
    """The tests, by file and name, in the order in which they were collected."""

    tests: dict[str, Planned] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """What is wrong with the list of expected failures."""


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan for another process."""
    path.write_text(json.dumps(asdict(plan)), encoding="utf-8")


def read_plan(path: Path) -> Plan:
    """Read what `write_plan` wrote."""
    said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    tests = {
        name: Planned(**{**facts, "condition": tuple(facts["condition"])})
        for name, facts in said["tests"].items()
    }
    return Plan(tests, said["wrong"])
