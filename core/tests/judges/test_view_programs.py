"""Judge: random programs over views, dtypes and devices against eager numpy. A failure shrinks to a
script for `run_program`.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from view_programs import Step, programs, run_program

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "40"))


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs)
def test_programs_over_views_equal_eager_numpy(program: list[Step]) -> None:
    run_program(program)
