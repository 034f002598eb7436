"""Properties of simplification over random expressions; the number of them is
`FUZZ_EXPRESSIONS`, and `FUZZ_REPORT` names a file for the counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simplify_checks import (
    DTYPES,
    Tally,
    check_arithmetic,
    check_gather,
    check_mask,
    check_sizes,
    write_report,
)
from uop_fuzz import evaluate

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.symbolic import simplify

EXPRESSIONS = int(os.environ.get("FUZZ_EXPRESSIONS", "2000"))
KINDS = len(DTYPES) + 3
PER_KIND = -(-EXPRESSIONS // KINDS)


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[str, Tally]]:
    found: dict[str, Tally] = {}
    yield found
    name = os.environ.get("FUZZ_REPORT")
    if name is not None:
        write_report(Path(name), found)


def finish(tally: Tally) -> None:
    assert tally.expressions == PER_KIND
    assert not tally.failures


@pytest.mark.parametrize("dtype", DTYPES, ids=[d.name for d in DTYPES])
def test_arithmetic(tallies: dict[str, Tally], dtype: DType) -> None:
    tally = tallies[dtype.name] = Tally()
    base = DTYPES.index(dtype) * 10_000_000
    for seed in range(base, base + PER_KIND):
        check_arithmetic(tally, seed, dtype)
    finish(tally)


def test_variable_sizes(tallies: dict[str, Tally]) -> None:
    tally = tallies["variable sizes"] = Tally()
    for seed in range(PER_KIND):
        check_sizes(tally, seed)
    finish(tally)


def test_masks(tallies: dict[str, Tally]) -> None:
    tally = tallies["masks"] = Tally()
    for seed in range(PER_KIND):
        check_mask(tally, seed)
    finish(tally)


def test_masked_gathers(tallies: dict[str, Tally]) -> None:
    tally = tallies["masked gathers"] = Tally()
    for seed in range(PER_KIND):
        check_gather(tally, seed)
    finish(tally)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.integers(0, 2**40), st.sampled_from(DTYPES))
def test_new_expressions(seed: int, dtype: DType) -> None:
    tally = Tally()
    check_arithmetic(tally, seed, dtype)
    assert not tally.failures


@pytest.mark.parametrize("op", [Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD])
@pytest.mark.parametrize("dtype", [dtypes.weakint, dtypes.int32])
def test_division_in_all_signs_exhaustively(op: Ops, dtype: DType) -> None:
    """`(a*x + k) op d` for small a, k, d of every sign, at every x."""
    x = UOp.variable("x", -9, 9, dtype)
    for factor in (-6, -4, -1, 1, 2, 3, 4, 8):
        for offset in (-5, -1, 0, 2, 7):
            for divisor in (-8, -4, -3, -1, 1, 2, 4, 6):
                numerator = x * UOp.const(factor, dtype) + UOp.const(offset, dtype)
                node = UOp(op, (numerator, UOp.const(divisor, dtype)))
                simple = simplify(node)
                for value in range(-9, 10):
                    expected = evaluate(node, {x: value})
                    assert evaluate(simple, {x: value}) == expected, (factor, offset, divisor)


def test_deep_expressions() -> None:
    r, v = UOp.range(8, 0), UOp.variable("v", 0, 5)
    node = r
    for i in range(6_000):
        node = node + (v if i % 3 else 1)
    assert simplify(node).bounds == node.bounds
    mixed = r
    for i in range(6_000):
        mixed = mixed * 3 if i % 2 else mixed % 7
    assert simplify(mixed).vmax < 21


def test_a_loop_stays_the_same_loop() -> None:
    """Simplifying an index alone must not change the loops it is closed by."""
    n, m = UOp.variable("n", 1, 6), UOp.variable("m", 2, 5)
    loop = UOp.range((m * n + 0) * 1, 7)
    assert simplify(loop + 0) is loop
