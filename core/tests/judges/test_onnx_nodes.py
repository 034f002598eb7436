"""Judge: the node tests that the `onnx` package ships, with its own tolerances.

A fixed choice of operators runs always; `ONNX_NODES=all` runs everything and writes what became of it
to the file that ONNX_REPORT names.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="ONNX is not installed: pip install ./core[onnx]")

from onnx_cases import (
    LEFT_OUT,
    all_cases,
    cases_of,
    kind_of,
    operator_of,
    package_version,
    run_case,
)

from tg_core import Device
from tg_core.onnx.package import NEWEST_OPSET

CHOSEN = (
    "batch_normalization",
    "compress",
    "concat",
    "constantofshape",
    "dequantizelinear",
    "einsum",
    "expand",
    "gathernd",
    "groupnormalization",
    "if_",
    "loop",
    "onehot",
    "optionalhaselement",
    "pad",
    "quantizelinear",
    "reshape",
    "slice",
    "trilu",
    "where",
    "xor",
)
"""Modules of the package whose cases are quick to make and to run."""
NOTES = {
    "test_attention_4d_causal_fp16_expanded": "float16: both round once more than needed",
    "test_dft_inverse": "the exact result is 0, the package expects the rounding error 1.9e-7",
    "test_dft_inverse_opset19": "the same",
}
"""What is known of cases that fail."""
SHARE = 0.9
"""How much of what is neither training nor sequences must pass."""


def table(cases: list[Any]) -> dict[str, dict[str, str]]:
    """Return for each operator what became of its cases, by name."""
    by_name = {case.name: operator_of(case, {}) for case in cases}
    found: dict[str, dict[str, str]] = {}
    for case in cases:
        operator = operator_of(case, by_name)
        outcome = run_case(case, operator)
        text = outcome.status + (f": {outcome.reason}" if outcome.reason else "")
        found.setdefault(operator, {})[case.name] = text
    return found


@pytest.mark.parametrize("module", CHOSEN)
def test_operators_equal_their_definition(module: str) -> None:
    cases = cases_of([module])
    assert cases
    wrong = {
        name: outcome
        for entries in table(cases).values()
        for name, outcome in entries.items()
        if not outcome.startswith("passed") and "training" not in name
    }
    assert wrong == {}


@pytest.mark.skipif(os.environ.get("ONNX_NODES") != "all", reason="ONNX_NODES=all runs it")
def test_all_operators() -> None:
    cases = all_cases()
    kinds = {case.name: kind_of(case) for case in cases}
    found = table(cases)
    outcomes = {name: text for entries in found.values() for name, text in entries.items()}
    counts: dict[str, Counter[str]] = {
        kind: Counter() for kind in ("plain", "sequence", "training")
    }
    for name, text in outcomes.items():
        counts[kinds[name]][text.partition(":")[0]] += 1
    plain = counts["plain"]
    share = plain["passed"] / plain.total()
    report = {
        "judge": "onnx_nodes",
        "onnx": package_version(),
        "numpy": np.__version__,
        "newest_opset": NEWEST_OPSET,
        "device": Device.DEFAULT,
        "cases": len(cases),
        "seed": "0 for each operator, set by the package",
        "share_passed_of_plain": round(share, 4),
        "counts": {kind: dict(sorted(count.items())) for kind, count in counts.items()},
        "left_out": {why: names.split() for why, names in LEFT_OUT.items()},
        "failed": {
            name: ": ".join(filter(None, (text.partition(": ")[2], NOTES.get(name))))
            for name, text in sorted(outcomes.items())
            if text.startswith("failed")
        },
        "operators": {
            operator: dict(sorted(Counter(t.partition(":")[0] for t in entries.values()).items()))
            for operator, entries in sorted(found.items())
        },
    }
    path = os.environ.get("ONNX_REPORT")
    if path is not None:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    assert share >= SHARE, report["failed"]
