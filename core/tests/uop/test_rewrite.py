"""Modes of rewriting, its fixed point, and rules that never reach one."""

from __future__ import annotations

import pytest

from tg_core.errors import RewriteError
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, Variable, graph_rewrite

a, b = Variable("a", 0, 99), Variable("b", 0, 99)
k = UPat(Ops.CONST, name="k")


def countdown(k: UOp) -> UOp | None:
    return UOp.const(k.arg - 1) if k.arg > 0 else None


def increment(k: UOp) -> UOp:
    return UOp.const(k.arg + 1)


COUNTDOWN = PatternMatcher([(k, countdown)])
INCREMENT = PatternMatcher([(k, increment)])


def test_results_are_rewritten_until_nothing_changes() -> None:
    assert graph_rewrite(a + 50, COUNTDOWN) is UOp(Ops.ADD, (a, UOp.const(0)))
    assert graph_rewrite(a, COUNTDOWN) is a


def test_walk_visits_each_node_once() -> None:
    assert graph_rewrite(a + 50, COUNTDOWN, walk=True) is a + 49
    assert graph_rewrite((a + 50) * 50, INCREMENT, walk=True) is (a + 51) * 51


def test_sources_come_before_or_after_the_node() -> None:
    seen: list[UOp] = []

    def watch(x: UOp) -> None:
        seen.append(x)

    matcher = PatternMatcher([(UPat((Ops.ADD, Ops.MUL), name="x"), watch)])
    root = (a + b) * (b + a)
    graph_rewrite(root, matcher)
    assert seen[-1] is root
    seen.clear()
    graph_rewrite(root, matcher, bottom_up=True)
    assert seen[0] is root
    assert set(seen) == {root, a + b, b + a}


def test_bottom_up_sees_what_sources_were() -> None:
    def collapse(x: UOp) -> UOp:
        return b

    matcher = COUNTDOWN + PatternMatcher(
        [(UPat(Ops.ADD, (UPat.var("x"), UPat.const(3))), collapse)]
    )
    assert graph_rewrite(a + 3, matcher, bottom_up=True) is b
    assert graph_rewrite(a + 3, matcher) is UOp(Ops.ADD, (a, UOp.const(0)))


def test_two_matchers_in_one_pass() -> None:
    """`bpm` sees a node before its sources, the other one after them."""
    events: list[tuple[str, UOp]] = []

    def before(x: UOp) -> None:
        events.append(("before", x))

    def after(x: UOp) -> None:
        events.append(("after", x))

    root = (a + b) * b
    pattern = UPat((Ops.ADD, Ops.MUL), name="x")
    graph_rewrite(root, PatternMatcher([(pattern, after)]), bpm=PatternMatcher([(pattern, before)]))
    assert events == [("before", root), ("before", a + b), ("after", a + b), ("after", root)]

    def to_product(x: UOp) -> UOp:
        return x.src[0] * 3

    bpm = PatternMatcher([(UPat(Ops.ADD, name="x"), to_product)])
    assert graph_rewrite(a + b, COUNTDOWN, bpm=bpm) is UOp(Ops.MUL, (a, UOp.const(0)))


def test_bodies_of_calls() -> None:
    call = UOp.call(UOp.sink(a + 5), b + 5)
    outside = graph_rewrite(call, INCREMENT, walk=True)
    assert outside is UOp.call(UOp.sink(a + 5), b + 6)
    assert graph_rewrite(call, INCREMENT, walk=True, enter_calls=True) is UOp.call(
        UOp.sink(a + 6), b + 6
    )
    assert graph_rewrite(call, INCREMENT, walk=True, bottom_up=True) is outside


def test_shared_nodes_are_rewritten_once() -> None:
    count = 0

    def watch(x: UOp) -> None:
        nonlocal count
        count += 1

    node = a
    for _ in range(40):
        node = node + node
    graph_rewrite(node, PatternMatcher([(UPat(Ops.ADD, name="x"), watch)]))
    assert count == 40


def test_work_is_linear_in_the_length_of_a_chain() -> None:
    counts = []
    for length in (100, 1_000, 10_000):
        count = 0

        def watch(x: UOp) -> None:
            nonlocal count
            count += 1

        node = a
        for i in range(length):
            node = node + (i + 1000)
        graph_rewrite(node, PatternMatcher([(UPat(name="x"), watch)]))
        counts.append(count / length)
    assert max(counts) <= 2.1


@pytest.mark.parametrize(
    ("mode", "depth"),
    [({}, 100_000), ({"bottom_up": True}, 20_000), ({"walk": True}, 20_000)],
    ids=str,
)
def test_depth_is_not_bounded(mode: dict[str, bool], depth: int) -> None:
    node = a
    for _ in range(depth):
        node = UOp(Ops.ADD, (node, UOp.const(1)))

    def to_two(k: UOp) -> UOp | None:
        return UOp.const(2) if k.arg == 1 else None

    result = graph_rewrite(node, PatternMatcher([(k, to_two)]), **mode)
    assert result.src[1] is UOp.const(2)
    assert len(result.toposort()) == depth + 2


def flip(x: UOp) -> UOp:
    return UOp(Ops.ADD, x.src[::-1])


def wrap(x: UOp) -> UOp:
    return x + 0


def grow(k: UOp) -> UOp:
    return UOp.const(k.arg + 1) + a


PARAM = UPat(Ops.PARAM, name="x")
LOOPS = {
    "undo each other": (PatternMatcher([(UPat(Ops.ADD, name="x"), flip)]), a + b, "ADD"),
    "count for ever": (INCREMENT, a + 1, "CONST"),
    "wrap their own node": (PatternMatcher([(PARAM, wrap)]), a * b, "PARAM"),
    "grow inside": (PatternMatcher([(k, grow)]), a * 2, "CONST"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_rules_without_a_fixed_point_are_an_error(name: str) -> None:
    matcher, root, op = LOOPS[name]
    with pytest.raises(
        RewriteError, match=rf"rules do not reach a fixed point at {op}; last result"
    ):
        graph_rewrite(root, matcher)


@pytest.mark.parametrize("name", ["undo each other", "count for ever", "wrap their own node"])
def test_so_they_are_before_the_sources(name: str) -> None:
    matcher, root, op = LOOPS[name]
    with pytest.raises(RewriteError, match=f"fixed point at {op}"):
        graph_rewrite(root, matcher, bottom_up=True)


def test_long_ways_to_a_fixed_point_are_fine() -> None:
    assert graph_rewrite(UOp.const(900), COUNTDOWN) is UOp.const(0)

    def split(x: UOp) -> UOp | None:
        size = x.src[0].arg
        return (
            None if size == 0 else UOp(Ops.TRUNC, (UOp(Ops.TRUNC, (UOp.const(size - 1),)),)).src[0]
        )

    matcher = PatternMatcher([(UPat(Ops.TRUNC, (UPat(Ops.CONST),), name="x"), split)])
    assert graph_rewrite(UOp(Ops.TRUNC, (UOp.const(500),)), matcher) is UOp(
        Ops.TRUNC, (UOp.const(0),)
    )
