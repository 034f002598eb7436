"""Random programs with captured functions equal numpy."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, seed, settings
from jit_programs import Step, bodies, programs, run

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "12"))


@seed(int(os.environ.get("JUDGE_SEED", "0")))
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)
@given(bodies, programs)
def test_programs_equal_numpy(body: list[Step], program: list[Step]) -> None:
    run(body, program)
