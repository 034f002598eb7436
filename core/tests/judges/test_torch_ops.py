"""Judge: every op that PyTorch has too, on generated tensors, against PyTorch: values and gradients.

A failure shrinks to a case that `check(Case(...))` of `torch_ops` reproduces.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, seed, settings

pytest.importorskip("torch", reason="PyTorch is not installed: pip install ./core[judges]")

import torch
from hypothesis.strategies import DataObject, data
from judge_report import read_parts, write_part
from torch_cases import tally
from torch_ops import DIFFERENCES, LEFT_OUT, OPS, cases, check

from tg_core import Device, Tensor

EXAMPLES = int(os.environ.get("JUDGE_EXAMPLES", "10"))
SEED = int(os.environ.get("JUDGE_SEED", "0"))


passed: list[str] = []
started: list[str] = []


def outcomes(name: str) -> dict[str, int]:
    """Return how many cases of an op had each outcome."""
    found = {outcome: count for (op, outcome), count in sorted(tally.items()) if op == name}
    return {"cases": sum(found.values()), "failed": int(name not in passed), **found}


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Write what ran to the file that JUDGE_REPORT names, beside what it says of other devices."""
    yield
    header = {
        "judge": "torch_ops",
        "torch": torch.__version__,
        "seed": SEED,
        "differences_on_purpose": {why: names.split() for why, names in DIFFERENCES.items()},
        "left_out": {why: names.split() for why, names in LEFT_OUT.items()},
    }
    # ops that did not run this time keep what they have
    former = read_parts(header, "devices").get(Device.DEFAULT, {})
    by_op = {**former.get("by_op", {}), **{op: outcomes(op) for op in started}}
    totals: Counter[str] = Counter()
    for counts in by_op.values():
        totals.update(counts)
    found = {"ops": len(by_op), **totals, "by_op": dict(sorted(by_op.items()))}
    write_part(header, "devices", Device.DEFAULT, found)


def test_left_out_ops_exist() -> None:
    names = {name for group in LEFT_OUT.values() for name in group.split()}
    assert not names & set(OPS)
    assert not {name for name in names if not hasattr(Tensor, name)} - {"grad", "uop", "is_param"}


@pytest.mark.parametrize("name", sorted(OPS))
def test_op_equals_torch(name: str) -> None:
    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data())
    def run(source: DataObject) -> None:
        check(source.draw(cases(name), label="case"))

    started.append(name)
    run()
    passed.append(name)
