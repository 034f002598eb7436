"""What simplification promises, checked for one random expression at a time and counted.

An expression keeps its value for every assignment, and its dtype; its bounds, before and after,
contain the value; simplifying the result fires no rule; and no more rules fire than a stated number
for each node of the expression.
"""

from __future__ import annotations

import json
import platform
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uop_fuzz import Assignment, Generator, OutOfBounds, Unspecified, evaluate

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Invalid, Ops, UOp, graph_rewrite
from tg_core.uop.printer import render
from tg_core.uop.record import recording
from tg_core.uop.symbolic import simplify, symbolic_full

MOST_REWRITES = 4
"""Rewrites that simplifying an expression takes at most, for each of its nodes."""
ASSIGNMENTS = 12
"""Points at which each expression is evaluated."""


@dataclass
class Tally:
    """Counts of one kind of expression."""

    expressions: int = 0
    assignments: int = 0
    unspecified: int = 0
    """Assignments under which the expression divides by zero."""
    nodes: int = 0
    rewrites: int = 0
    most_rewrites: float = 0.0
    """For each node of an expression."""
    not_idempotent: int = 0
    outside_bounds: int = 0
    wrong_values: int = 0
    failures: list[str] = field(default_factory=list)

    def fail(self, kind: str, message: str) -> None:
        """Count a failure, and keep some of what was found."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.failures) < 20:
            self.failures.append(message)


def rewrites_of(function: Callable[[UOp], UOp], expression: UOp) -> tuple[UOp, int, int]:
    """Simplify, and count the rules that fire: on the expression itself, and all of them, with
    those by which rules find out whether they apply.
    """
    with recording() as recorded:
        simple = function(expression)
    counts = [len(stage.firings) for stage in recorded.stages]
    return simple, counts[0], sum(counts)


def full(expression: UOp) -> UOp:
    """Simplify as code generation does."""
    return graph_rewrite(expression, symbolic_full)


def check(
    tally: Tally,
    seed: int,
    expression: UOp,
    draw: Callable[[], Assignment],
    function: Callable[[UOp], UOp] = simplify,
) -> None:
    """Check one expression."""
    tally.expressions += 1
    simple, _, rewrites = rewrites_of(function, expression)
    what = f"seed {seed}: {render(expression)} => {render(simple)}"
    nodes = len(expression.toposort())
    tally.nodes += nodes
    tally.rewrites += rewrites
    tally.most_rewrites = max(tally.most_rewrites, round(rewrites / nodes, 2))
    if rewrites > MOST_REWRITES * nodes:
        tally.fail("wrong_values", f"{what}: {rewrites} rewrites of {nodes} nodes")
    # recorded, a graph that is known to be final is looked at all the same
    again, more, _ = rewrites_of(function, simple)
    if again is not simple or more or function(simple) is not simple:
        tally.fail("not_idempotent", f"{what} => {render(again)}")
    never = simple.op is Ops.CONST and simple.arg is Invalid
    if simple.dtype is not expression.dtype and not never:
        tally.fail("wrong_values", f"{what}: {simple.dtype.name}")
    for _ in range(ASSIGNMENTS):
        values = draw()
        try:
            expected = evaluate(expression, values)
        except Unspecified:
            tally.unspecified += 1
            continue
        tally.assignments += 1
        point = {render(leaf): value for leaf, value in values.items()}
        try:
            wrong = evaluate(simple, values) != expected
        except OutOfBounds:
            wrong = True
        if wrong:
            tally.fail("wrong_values", f"{what} at {point}")
        if expected is None:
            continue
        for node in (expression, simple):
            if not node.vmin <= expected <= node.vmax:
                tally.fail("outside_bounds", f"{what}: {render(node)} at {point}")


def check_arithmetic(tally: Tally, seed: int, dtype: DType) -> None:
    """Check an expression of one dtype."""
    rng = random.Random(seed)
    generator = Generator(rng, dtype)
    if rng.random() < 0.75:
        expression = generator.integer(rng.randint(2, 5))
    else:
        expression = generator.boolean(rng.randint(2, 4))
    check(tally, seed, expression, generator.assignment)


def check_mask(tally: Tally, seed: int) -> None:
    """Check an index under a mask."""
    generator = Generator(random.Random(seed))
    mask = generator.boolean(2) & generator.boolean(1)
    node = UOp(Ops.WHERE, (mask, generator.integer(3), UOp.const(Invalid)))
    check(tally, seed, node, generator.assignment, full)


def check_gather(tally: Tally, seed: int) -> None:
    """Check an index that depends on loads, which may be masked themselves. All of them are done,
    whatever the mask around them says, so that none may leave its storage.
    """
    rng = random.Random(seed)
    generator = Generator(rng)
    for slot in range(2):
        size = rng.choice((2, 5, 8, 16))
        position = UOp(Ops.FLOORMOD, (generator.integer(2), UOp.const(size)))
        if rng.random() < 0.5:
            position = UOp(Ops.WHERE, (generator.boolean(1), position, UOp.const(Invalid)))
        storage = UOp.param(slot, dtypes.int32, (size,))
        generator.leaves.append(storage.index(position).load().cast(dtypes.weakint))
    mask = generator.boolean(2) & generator.boolean(1)
    index = UOp(Ops.ADD, (generator.integer(2), generator.leaves[-1]))
    node = UOp(Ops.WHERE, (mask, index, UOp.const(Invalid)))
    check(tally, seed, node, generator.assignment, full)


_N = UOp.variable("n", 1, 6)
_M = UOp.variable("m", 2, 5)
SYMBOLIC = [_N, _M, UOp.range(_N, 0), UOp.range(_M, 1), UOp.range(_N * _M, 2), UOp.range(4, 3)]
"""Variables, and loops of variable sizes."""


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
        factors = [_N, _M, _N * _M, UOp.const(2), UOp.const(3), _N + 1]
        return UOp(Ops.MUL, (inner, rng.choice(factors)))
    divisors = [_N, _M, _N * _M, _N * 2, _M * _N, _N + 1, UOp.const(2), UOp.const(3), _M * 4]
    op = rng.choice([Ops.FLOORDIV, Ops.FLOORMOD])
    return UOp(op, (inner, rng.choice(divisors)))


def check_sizes(tally: Tally, seed: int) -> None:
    """Check an index over loops of variable sizes."""
    rng = random.Random(seed)
    expression = symbolic_expression(rng, rng.randint(2, 5))

    def draw() -> Assignment:
        n, m = rng.randint(1, 6), rng.randint(2, 5)
        sizes = (n, m, n * m, 4)
        return dict(zip(SYMBOLIC, (n, m, *(rng.randrange(size) for size in sizes)), strict=True))

    check(tally, seed, expression, draw)


def write_report(path: Path, tallies: dict[str, Tally]) -> None:
    """Write the counts of a run."""
    rows = {}
    for kind, tally in sorted(tallies.items()):
        rows[kind] = {
            "expressions": tally.expressions,
            "assignments": tally.assignments,
            "divisions_by_zero_left_out": tally.unspecified,
            "not_idempotent": tally.not_idempotent,
            "outside_bounds": tally.outside_bounds,
            "wrong_values": tally.wrong_values,
            "rewrites_per_node": round(tally.rewrites / max(tally.nodes, 1), 2),
            "most_rewrites_per_node": tally.most_rewrites,
        }
    total: dict[str, Any] = {
        key: sum(row[key] for row in rows.values())
        for key in (
            "expressions",
            "assignments",
            "not_idempotent",
            "outside_bounds",
            "wrong_values",
        )
    }
    report = {
        "judge": "simplify_fuzz",
        "seeds": "numbers from 0, and from 10,000,000 * i for the dtype of number i",
        **total,
        "most_rewrites_per_node": max(tally.most_rewrites for tally in tallies.values()),
        "allowed_rewrites_per_node": MOST_REWRITES,
        "failures": [line for tally in tallies.values() for line in tally.failures],
        "by_kind": rows,
        "versions": {"python": platform.python_version()},
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


DTYPES = [
    dtypes.weakint, dtypes.int32, dtypes.int8, dtypes.uint8, dtypes.uint32, dtypes.int64,
]  # fmt: skip
