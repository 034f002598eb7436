"""Properties of simplification over random expressions; the number of them is
`FUZZ_EXPRESSIONS`.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uop_fuzz import Generator, Unspecified, evaluate

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.printer import render
from tg_core.uop.symbolic import simplify

DTYPES = [
    dtypes.weakint, dtypes.int32, dtypes.int8, dtypes.uint8, dtypes.uint32, dtypes.int64,
]  # fmt: skip
EXPRESSIONS = int(os.environ.get("FUZZ_EXPRESSIONS", "2000"))
PER_DTYPE = max(EXPRESSIONS // len(DTYPES), 1)
ASSIGNMENTS = 12


def check(seed: int, dtype: DType) -> None:
    """Check one expression: value, dtype, bounds, idempotence."""
    rng = random.Random(seed)
    generator = Generator(rng, dtype)
    if rng.random() < 0.75:
        expression = generator.integer(rng.randint(2, 5))
    else:
        expression = generator.boolean(rng.randint(2, 4))
    simple = simplify(expression)
    what = f"seed {seed}: {render(expression)} => {render(simple)}"
    assert simple.dtype is expression.dtype, what
    assert simplify(simple) is simple, f"{what} is not a fixed point"
    for _ in range(ASSIGNMENTS):
        values = generator.assignment()
        try:
            expected = evaluate(expression, values)
        except Unspecified:
            continue
        where = {render(leaf): value for leaf, value in values.items()}
        assert evaluate(simple, values) == expected, f"{what} at {where}"
        for node in (expression, simple):
            assert node.vmin <= expected <= node.vmax, f"bounds of {render(node)} at {where}"


@pytest.mark.parametrize("dtype", DTYPES, ids=[d.name for d in DTYPES])
def test_value_bounds_and_idempotence(dtype: DType) -> None:
    base = DTYPES.index(dtype) * 10_000_000
    for seed in range(base, base + PER_DTYPE):
        check(seed, dtype)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.integers(0, 2**40), st.sampled_from(DTYPES))
def test_value_bounds_and_idempotence_of_new_expressions(seed: int, dtype: DType) -> None:
    check(seed, dtype)


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


def test_terminates_within_the_stated_number_of_rewrites() -> None:
    """No expression of n nodes takes more than 40 rewrites a node."""
    from tg_core.uop.record import recording

    for seed in range(200):
        expression = Generator(random.Random(seed)).integer(4)
        with recording() as recorded:
            simplify(expression)
        rewrites = sum(len(stage.firings) for stage in recorded.stages)
        assert rewrites <= 40 * len(expression.toposort()), render(expression)


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


N = UOp.variable("n", 1, 6)
M = UOp.variable("m", 2, 5)
SYMBOLIC = [N, M, UOp.range(N, 0), UOp.range(M, 1), UOp.range(N * M, 2), UOp.range(4, 3)]


def symbolic_expression(rng: random.Random, depth: int) -> UOp:
    """Draw an index over loops of variable size, divided by sizes as views do."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(SYMBOLIC) if rng.random() < 0.9 else UOp.const(rng.randint(-3, 9))
    kind = rng.random()
    inner = symbolic_expression(rng, depth - 1)
    if kind < 0.4:
        op = Ops.ADD if kind < 0.35 else Ops.SUB
        return UOp(op, (inner, symbolic_expression(rng, depth - 1)))
    if kind < 0.65:
        return UOp(Ops.MUL, (inner, rng.choice([N, M, N * M, UOp.const(2), UOp.const(3), N + 1])))
    divisors = [N, M, N * M, N * 2, M * N, N + 1, UOp.const(2), UOp.const(3), M * 4]
    op = rng.choice([Ops.FLOORDIV, Ops.FLOORMOD])
    return UOp(op, (inner, rng.choice(divisors)))


def test_variable_sizes_keep_value_and_bounds() -> None:
    for seed in range(PER_DTYPE):
        rng = random.Random(seed)
        expression = symbolic_expression(rng, rng.randint(2, 5))
        simple = simplify(expression)
        what = f"seed {seed}: {render(expression)} => {render(simple)}"
        assert simplify(simple) is simple, f"{what} is not a fixed point"
        for _ in range(ASSIGNMENTS):
            n, m = rng.randint(1, 6), rng.randint(2, 5)
            sizes = (n, m, n * m, 4)
            values = dict(zip(SYMBOLIC, (n, m, *(rng.randrange(size) for size in sizes))))
            expected = evaluate(expression, values)
            assert evaluate(simple, values) == expected, f"{what} at {values}"
            for node in (expression, simple):
                assert node.vmin <= expected <= node.vmax, f"bounds of {render(node)}"


def test_a_loop_stays_the_same_loop() -> None:
    """Simplifying an index alone must not change the loops it is closed by."""
    loop = UOp.range((M * N + 0) * 1, 7)
    assert simplify(loop + 0) is loop
