"""Division by constants without division; `DIVISION_REPORT` names a file for the counts, and makes
the test of divisors below 2^16 a test of all of them.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from codegen_kernels import LEAN_GRID, apply
from uop_fuzz import evaluate, wrap

from tg_core.codegen.decompositions.divide_by_multiplication import multiplier, rules
from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.uop.ops import Ops, UOp

REPORT = os.environ.get("DIVISION_REPORT")
DIVISORS = range(1, 1 << 16) if REPORT else range(1, 1 << 16, 199)
RANDOM = 20_000 if REPORT else 300
"""Random divisors of each width."""
DIVISIONS = (Ops.FLOORDIV, Ops.FLOORMOD, Ops.CDIV, Ops.CMOD)
NO_DIVISION = replace(
    LEAN_GRID, name="NO_DIVISION", native_ops=LEAN_GRID.native_ops - {Ops.CDIV, Ops.CMOD}
)
counts: dict[str, int] = {}


@pytest.fixture(scope="module", autouse=True)
def report(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if REPORT:
        found = {
            "judge": "magic_division",
            "seed": 0,
            "failed": request.session.testsfailed,
            **counts,
        }
        Path(REPORT).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def without_division(op: Ops, x: UOp, divisor: int) -> UOp:
    found = rules.rewrite(UOp(op, (x, UOp.const(divisor, x.dtype))))
    assert found is not None
    assert not {u.op for u in found.toposort()} & set(DIVISIONS)
    return found


def critical(divisor: int, low: int, high: int, rng: random.Random) -> list[int]:
    """Return values next to multiples of a divisor, the ends of the interval, and some others."""
    last = high // divisor
    turns = [0, 1, 2, last - 1, last, *(rng.randint(0, max(last, 1)) for _ in range(4))]
    found = [low, low + 1, high - 1, high, rng.randint(low, high)]
    for turn in turns:
        near = turn * divisor
        found += [near - 1, near, near + 1, -near - 1, -near, 1 - near]
    return sorted({value for value in found if low <= value <= high})


def test_every_divisor_of_16_bits_at_every_value() -> None:
    values = np.arange(1 << 16, dtype=np.uint64)
    for divisor in DIVISORS:
        factor, shift = multiplier(divisor, (1 << 16) - 1)
        assert ((1 << 16) - 1) * factor < 1 << 64
        found = (values * np.uint64(factor)) >> np.uint64(shift)
        assert np.array_equal(found, values // np.uint64(divisor)), divisor
    counts["divisors_below_2_16_at_all_values_below_2_16"] = len(DIVISORS)


@pytest.mark.parametrize("bits", [31, 32, 63, 64])
def test_every_divisor_of_16_bits_where_it_is_close(bits: int) -> None:
    rng = random.Random(bits)
    largest = (1 << bits) - 1
    points = 0
    for divisor in DIVISORS:
        factor, shift = multiplier(divisor, largest)
        for value in critical(divisor, 0, largest, rng):
            assert value * factor >> shift == value // divisor, (divisor, value)
            points += 1
    counts[f"divisors_below_2_16_for_{bits}_bits"] = len(DIVISORS)
    counts[f"their_values_for_{bits}_bits"] = points


def random_divisor(rng: random.Random, bits: int) -> int:
    value = rng.getrandbits(rng.randint(1, bits)) or 1
    return rng.choice((value, value | 1, (1 << bits) - 1 - value, 1 << value.bit_length() - 1)) or 1


@pytest.mark.parametrize("bits", [32, 64])
def test_random_divisors(bits: int) -> None:
    rng = random.Random(bits)
    for _ in range(RANDOM):
        divisor = random_divisor(rng, bits)
        for largest in ((1 << bits) - 1, (1 << bits - 1) - 1, rng.getrandbits(bits)):
            factor, shift = multiplier(divisor, largest)
            for value in critical(divisor, 0, largest, rng):
                assert value * factor >> shift == value // divisor, (divisor, largest, value)
    counts[f"random_divisors_of_{bits}_bits"] = RANDOM


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("dtype", dtypes.ints, ids=[d.name for d in dtypes.ints])
def test_nodes_of_every_width(op: Ops, dtype: DType) -> None:
    """Every sign of value and divisor, the ends of the width included."""
    low, high = int(dtypes.min(dtype)), int(dtypes.max(dtype))
    x = UOp.variable("x", low, high, dtype)
    rng = random.Random(dtype.bits)
    truncates = op in (Ops.CDIV, Ops.CMOD)
    divisors = [
        1,
        2,
        3,
        7,
        10,
        100,
        127,
        high,
        *(rng.randint(1, high) for _ in range(RANDOM // 100)),
    ]
    if low and truncates:
        divisors += [-d for d in divisors] + [low]
    for divisor in divisors:
        node = without_division(op, x, divisor)
        exact = UOp(op, (x, UOp.const(divisor, dtype)))
        for value in critical(abs(divisor), low, high, rng):
            expected = evaluate(exact, {x: value})
            assert evaluate(node, {x: value}) == expected, (divisor, value)
            assert node.vmin <= expected <= node.vmax


@pytest.mark.parametrize("op", DIVISIONS)
def test_nodes_without_a_width(op: Ops) -> None:
    rng = random.Random(0)
    for _ in range(RANDOM):
        low = -rng.getrandbits(rng.choice((1, 8, 30, 40))) * rng.randint(0, 1)
        high = rng.getrandbits(rng.choice((1, 8, 31, 50)))
        x = UOp.variable("x", low, high)
        divisor = random_divisor(rng, rng.choice((4, 12, 31)))
        node = without_division(op, x, divisor)
        exact = UOp(op, (x, UOp.const(divisor)))
        for value in critical(divisor, low, high, rng):
            assert evaluate(node, {x: value}) == evaluate(exact, {x: value}), (low, high, divisor)


def test_known_bounds_make_it_short() -> None:
    """An index below 4096 takes one product of 32 bits."""
    x = UOp.variable("x", 0, 4095, dtypes.int32)
    node = without_division(Ops.FLOORDIV, x, 3)
    assert [u.op for u in node.toposort() if u.op in (Ops.MUL, Ops.SHR, Ops.CAST) and u.const_value is None] == [Ops.MUL, Ops.SHR]  # fmt: skip
    assert node.bounds == (0, 1365)


@pytest.mark.parametrize("op", DIVISIONS)
@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64], ids=str)  # fmt: skip
def test_on_a_target_without_division(op: Ops, dtype: DType) -> None:
    low, high = int(dtypes.min(dtype)), int(dtypes.max(dtype))
    rng = random.Random(1)
    for divisor in (3, 7, 100, -5 if low else 5):
        values = critical(abs(divisor), low, high, rng)

        def function(a: UOp, divisor: int = divisor) -> UOp:
            return UOp(op, (a, UOp.const(divisor, dtype)))

        x = UOp.variable("x", low, high, dtype)
        expected = [wrap(evaluate(function(x), {x: v}), dtype) for v in values]
        found = apply(function, NO_DIVISION, dtype, (np.array(values, to_numpy(dtype)), dtype))
        assert found.tolist() == expected, divisor
