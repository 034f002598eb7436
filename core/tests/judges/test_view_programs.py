"""Judge: random programs over views, dtypes and devices against eager numpy. A failure shrinks to a
script for `run_program`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from judge_report import write_part
from view_programs import Step, programs, run_program

from tg_core import Device

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "40"))
SEED = int(os.environ.get("JUDGE_SEED", "0"))
outcomes: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Write what ran to the file that JUDGE_REPORT names."""
    yield
    header = {"judge": "storage_programs", "numpy": np.__version__, "seed": SEED}
    write_part(header, "programs", f"view on {Device.DEFAULT}", dict(sorted(outcomes.items())))


@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs)
def test_programs_over_views_equal_eager_numpy(program: list[Step]) -> None:
    outcomes["programs"] += 1
    outcomes["steps"] += len(program)
    outcomes["failed"] += 1
    run_program(program)
    outcomes["failed"] -= 1
