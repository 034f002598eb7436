"""Every entry point takes a graph 100,000 nodes deep, far beyond Python's limit of recursion."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tg_core.dtype import dtypes
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite
from tg_core.uop.printer import render
from tg_core.uop.record import recording
from tg_core.uop.serialize import dump_uop, load_uop
from tg_core.uop.spec import spec_program, spec_shared, spec_tensor, type_verify
from tg_core.uop.symbolic import symbolic, symbolic_full, symbolic_simple
from tg_core.uop.validate import Verdict, prove_index
from tg_core.viz.compare import compare_graphs

DEPTH = 100_000
leaf = UOp.param(0, dtypes.int32, (4,)).index(UOp.const(0, dtypes.int32)).load()


def chain(depth: int = DEPTH) -> UOp:
    """Return `leaf ^ 1 ^ 2 ^ 3 ^ ...`, which no rule of the algebra shortens."""
    node = leaf
    for i in range(depth):
        node = UOp(Ops.XOR, (node, UOp.const(i % 5 + 1, dtypes.int32)))
    return node


@pytest.fixture(scope="module")
def deep() -> UOp:
    return chain()


def to_or(x: UOp) -> UOp:
    return x.replace(op=Ops.OR)


XOR_TO_OR = PatternMatcher([(UPat(Ops.XOR, name="x"), to_or)])


def ops_of(node: UOp) -> dict[Ops, int]:
    found: dict[Ops, int] = {}
    for u in node.toposort():
        found[u.op] = found.get(u.op, 0) + 1
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dtype", dtypes.int32),
        ("shape", ()),
        ("device", None),
        ("ranges", ()),
        ("bounds", (-(2**31), 2**31 - 1)),
    ],
)
def test_derived_properties(deep: UOp, name: str, expected: object) -> None:
    assert getattr(deep, name) == expected


def test_keys(deep: UOp) -> None:
    assert len(deep.key) == 16
    assert deep.key != deep.src[0].key


def test_walks_and_substitution(deep: UOp) -> None:
    assert len(deep.toposort()) == DEPTH + len(leaf.toposort()) + 10
    other = leaf + 1
    assert other in deep.substitute({leaf: other}).toposort()


@pytest.mark.parametrize(
    "mode", [{}, {"bottom_up": True}, {"walk": True}, {"bottom_up": True, "walk": True}], ids=str
)
def test_rewriting(deep: UOp, mode: dict[str, bool]) -> None:
    found = ops_of(graph_rewrite(deep, XOR_TO_OR, **mode))
    assert found[Ops.OR] == DEPTH
    assert Ops.XOR not in found


def test_rewriting_by_two_matchers_and_recorded(deep: UOp) -> None:
    with recording() as recorded:
        found = ops_of(graph_rewrite(deep, PatternMatcher(), bpm=XOR_TO_OR))
    assert found[Ops.OR] == len(recorded.stages[0].firings) == DEPTH


@pytest.mark.parametrize("rules", [symbolic_simple, symbolic, symbolic_full])
def test_algebra(deep: UOp, rules: PatternMatcher) -> None:
    assert graph_rewrite(deep, rules).bounds == deep.bounds


@pytest.mark.parametrize("spec", [spec_tensor, spec_shared, spec_program], ids=lambda s: s.name)
def test_specifications(deep: UOp, spec: Any) -> None:
    type_verify(deep, spec, "test")


def test_printing(deep: UOp) -> None:
    assert repr(deep).count("Ops.XOR") == DEPTH
    assert render(deep).count("^") == DEPTH


def test_files_and_pickles(deep: UOp) -> None:
    assert load_uop(dump_uop(deep)) is deep
    assert pickle.loads(pickle.dumps(deep)) is deep
    assert copy.deepcopy(deep) is deep


def test_comparing_for_the_view(deep: UOp) -> None:
    change = compare_graphs(deep.substitute({leaf: leaf + 1}), deep)
    assert len(change.rebuilt) == DEPTH


def test_proving_ends() -> None:
    """Nothing that is not proved within the limit is taken for safe."""
    place = UOp.param(1, dtypes.float32, (9,)).index(chain(10_000))
    verdict = prove_index(place, time_limit_ms=100).verdict
    assert verdict in (Verdict.VIOLATED, Verdict.TIMEOUT)
