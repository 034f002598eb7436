"""Judge: random captured functions on state against eager numpy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from jit_programs import Step, bodies, programs, run
from judge_report import write_part

from tg_core import Device

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "12"))
SEED = int(os.environ.get("JUDGE_SEED", "0"))
outcomes: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Write what ran to the file that JUDGE_REPORT names."""
    yield
    header = {"judge": "storage_programs", "numpy": np.__version__, "seed": SEED}
    write_part(header, "programs", f"captured on {Device.DEFAULT}", dict(sorted(outcomes.items())))


@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(bodies, programs)
def test_captured_programs_equal_eager_numpy(body: list[Step], program: list[Step]) -> None:
    outcomes["programs"] += 1
    outcomes["failed"] += 1
    if not run(body, program):
        outcomes["refused at capture"] += 1
    outcomes["failed"] -= 1
