"""Indices under masks: same index and same mask wherever the mask holds, and smaller."""

from __future__ import annotations

import itertools
import random

import pytest
from uop_fuzz import Generator, Unspecified, evaluate

from tg_core.dtype import dtypes
from tg_core.uop.ops import Invalid, Ops, UOp, graph_rewrite
from tg_core.uop.printer import render
from tg_core.uop.symbolic import symbolic_full

r0, r1, r2 = UOp.range(8, 0), UOp.range(4, 1), UOp.range(9, 2)


def masked(valid: UOp, index: UOp) -> UOp:
    return UOp(Ops.WHERE, (valid, index, UOp.const(Invalid)))


def full(node: UOp) -> UOp:
    return graph_rewrite(node, symbolic_full)


CASES = [
    (masked(r0 < 2, (r0 * 4 + r1) % 8), "where(r0 < 2, r0*4 + r1, Invalid)"),
    (masked(r0 < 2, (r0 * 4 + r1) // 8 + r1), "where(r0 < 2, r1, Invalid)"),
    (masked(r0 + r1 < 4, (r0 + r1) % 4), "where(r0 + r1 < 4, r0 + r1, Invalid)"),
    (masked(r0.eq(3), r0 * 2 + r1), "where(r0 == 3, r1 + 6, Invalid)"),
    (masked((r0 < 3) & (r0 + r1 < 11), r0), "where(r0 < 3, r0, Invalid)"),
    (masked((r2 > 0) & (r2 < 9), (r2 - 1) // 8 + (r2 + 7) % 8), "where(0 < r2, r2 + -1, Invalid)"),
    (masked((r0 < 3) & (r0 < 9), r0.maximum(2)), "where(r0 < 3, 2, Invalid)"),
    (masked(UOp.const(True), r0), "r0"),
]


@pytest.mark.parametrize(("node", "expected"), CASES, ids=[render(c[0]) for c in CASES])
def test_mask_simplifies(node: UOp, expected: str) -> None:
    assert render(full(node)) == expected


def test_mask_and_index_mean_the_same() -> None:
    for seed in range(300):
        generator = Generator(random.Random(seed))
        node = masked(generator.boolean(2) & generator.boolean(1), generator.integer(3))
        simple = full(node)
        for _ in range(25):
            values = generator.assignment()
            try:
                expected = evaluate(node, values)
            except Unspecified:
                continue
            assert evaluate(simple, values) == expected, (
                f"{seed}: {render(node)} => {render(simple)}"
            )


def test_padding_of_a_convolution() -> None:
    """A window over a padded row: every position, in and out of the padding."""
    padded = UOp.range(6, 3) + UOp.range(3, 4)
    valid = (padded > 0) & (padded < 7)
    node = full(masked(valid, (padded - 1) % 6 + (padded + 5) // 6 * 100))
    window, tap = node.ranges
    for a, b in itertools.product(range(6), range(3)):
        at = a + b
        expected = (at - 1) % 6 + (at + 5) // 6 * 100 if 0 < at < 7 else None
        assert evaluate(node, {window: a, tap: b}) == expected
    assert not any(u.op in (Ops.FLOORDIV, Ops.FLOORMOD) for u in node.toposort())


def test_a_load_inside_an_index_keeps_its_own_mask() -> None:
    """The load is done whether the outer mask holds or not."""
    storage = UOp.param(0, dtypes.int32, (2,))
    position = masked(r0 < 2, r0)
    loaded = UOp(Ops.LOAD, (UOp(Ops.INDEX, (storage, position)),)).cast(dtypes.weakint)
    node = masked(r0 < 2, (loaded + r0) % 8)
    kept = [n for n in full(node).toposort() if n.op is Ops.INDEX]
    assert [n.src[1] for n in kept] == [position]
