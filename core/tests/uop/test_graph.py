"""Walks and substitutions of whole graphs."""

from __future__ import annotations

from tg_core.dtype import dtypes
from tg_core.uop.graph import has_own_body, substitute_many, toposort, with_sources
from tg_core.uop.ops import Ops, UOp, Variable

a, b = Variable("a", 0, 9), Variable("b", 0, 9)


def test_sources_come_first_each_once_and_in_order() -> None:
    shared = a * b
    root = (shared + b) * (shared + a)
    order = root.toposort()
    assert order == [a, b, shared, shared + b, shared + a, root]
    assert len(order) == len(set(order))
    assert toposort((shared + a, root)) == [a, b, shared, shared + a, shared + b, root]
    assert toposort(()) == []


def test_a_gate_lists_but_does_not_enter() -> None:
    inner = a * b
    root = inner + b
    assert root.toposort(lambda node: node is not inner) == [inner, b, root]
    assert toposort((inner,), lambda node: False) == [inner]


def test_bodies_of_calls_are_entered_on_demand() -> None:
    param = UOp.param(0, dtypes.int32, (4,))
    call = UOp.call(UOp.sink(param), a)
    assert has_own_body(call)
    assert param in toposort((call,))
    assert toposort((call,), enter_calls=False) == [a, call]
    foreign = UOp.call(UOp(Ops.CUSTOM_FUNCTION, (b,), ("f", dtypes.int32)), a)
    assert not has_own_body(foreign)
    assert b in toposort((foreign,), enter_calls=False)


def test_substitution_is_simultaneous_and_not_repeated() -> None:
    root = (a + b) * a
    assert root.substitute({a: b, b: a}) is (b + a) * b
    assert root.substitute({a: a + 1}) is ((a + 1) + b) * (a + 1)
    assert root.substitute({}) is root
    assert root.substitute({Variable("c", 0, 1): a}) is root
    assert root.substitute({root: a}) is a
    assert root.substitute({a + b: b, a: b * 7}) is b * (b * 7)


def test_substitution_shares_its_memo_over_roots() -> None:
    first, second = substitute_many([a + 1, (a + 1) * b], {a: b})
    assert second.src[0] is first
    assert substitute_many([a, b], {}) == [a, b]


def test_substitution_leaves_bodies_alone_unless_asked() -> None:
    body = UOp.sink(a + 1)
    call = UOp.call(body, a)
    assert call.substitute({a: b}) is UOp.call(body, b)
    assert call.substitute({a: b}, enter_calls=True) is UOp.call(UOp.sink(b + 1), b)


def test_rebuilding_keeps_what_does_not_change() -> None:
    node = (a + b).replace(tag="kept")
    assert with_sources(node, {a: a, b: b}) is node
    moved = with_sources(node, {a: b, b: b})
    assert (moved.src, moved.tag) == ((b, b), "kept")


def test_wide_nodes() -> None:
    parts = [a + i for i in range(20_000)]
    sink = UOp.sink(*parts)
    assert len(sink.toposort()) == 2 * len(parts) + 2
    assert sink.substitute({a: b}).src[-1] is b + 19_999


def test_a_walk_visits_each_node_once() -> None:
    """The number of questions a walk asks grows with the graph, not with its paths."""
    counts = {}
    for levels in (10, 20, 40):
        node = a
        for _ in range(levels):
            node = node + node
        asked = 0

        def gate(_: UOp) -> bool:
            nonlocal asked
            asked += 1
            return True

        node.toposort(gate)
        counts[levels] = asked
    assert counts[40] <= 2 * (counts[20] + 1)
    assert counts[40] <= 3 * 41
