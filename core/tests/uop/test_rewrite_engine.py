"""What the algebra relies on: finished graphs are not walked again, nothing leaks, order is stable."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys

from uop_fuzz import Generator

from tg_core.uop import uop as uop_module
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite
from tg_core.uop.symbolic import simplify, symbolic_full

r0, r1 = UOp.range(8, 0), UOp.range(4, 1)


def test_a_finished_graph_is_not_walked_again() -> None:
    visits: list[UOp] = []

    def watch(x: UOp) -> None:
        visits.append(x)

    matcher = PatternMatcher([(UPat(Ops.MUL, name="x"), watch)], mark="_final_for_test")
    root = (r0 * 3 + r1) * 5
    assert graph_rewrite(root, matcher) is root
    assert len(visits) == 2
    bigger = root * 7
    assert graph_rewrite(bigger, matcher) is bigger
    assert visits[2:] == [bigger], "only what is new"


def test_a_mark_is_ignored_where_the_rules_have_a_context() -> None:
    def depends(x: UOp, ctx: int) -> UOp | None:
        return x.src[0] * ctx if x.src[1].arg != ctx else None

    matcher = PatternMatcher([(UPat(Ops.MUL, name="x"), depends)], mark="_final_for_test_ctx")
    assert graph_rewrite(r0 * 3, matcher, 5) is r0 * 5
    assert graph_rewrite(r0 * 5, matcher, 7) is r0 * 7


def test_a_sum_of_matchers_has_no_mark() -> None:
    assert symbolic_full.mark is not None
    assert (symbolic_full + PatternMatcher()).mark is None


def count_nodes() -> int:
    gc.collect()
    return len(uop_module._interned)


def test_simplified_expressions_vanish_when_unused() -> None:
    def work(seed: int) -> None:
        for offset in range(20):
            simplify(Generator(random.Random(seed + offset)).integer(5))

    work(0)
    before = count_nodes()
    work(100_000)
    assert count_nodes() - before < 50, "nodes outlive their last user"


def test_without_the_collector_too() -> None:
    """Caches on nodes hold no cycles, so reference counting alone frees a graph."""
    node = UOp.range(9, 77)
    count_nodes()
    gc.disable()
    try:
        before = len(uop_module._interned)
        expression = (node * 12 + node // 3 * 4) % 8 + node
        simplify(expression)
        del expression
        assert len(uop_module._interned) - before <= 2
    finally:
        gc.enable()


_PROGRAM = """
import random
from uop_fuzz import Generator
from tg_core.uop.printer import render
from tg_core.uop.symbolic import simplify
for seed in range(60):
    print(render(simplify(Generator(random.Random(seed)).integer(5))))
"""


def test_results_do_not_depend_on_the_hash_seed() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
