"""Modes of rewriting, its fixed point, and rules that never reach one."""

from __future__ import annotations

import contextlib
import re

import pytest

from tg_core.errors import RewriteError
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, Variable, graph_rewrite
from tg_core.uop.record import recording

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
GROWING = ("wrap their own node", "grow inside")
"""Where what is new has something new in it that the rules apply to."""


@pytest.fixture
def _shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take growth to be endless earlier, for the sake of time."""
    monkeypatch.setattr("tg_core.uop.rewrite._DEPTH", 1500)


@pytest.mark.parametrize("name", LOOPS)
def test_rules_without_a_fixed_point_are_an_error(name: str) -> None:
    matcher, root, op = LOOPS[name]
    with pytest.raises(
        RewriteError, match=rf"rules do not reach a fixed point at {op}; last result"
    ):
        graph_rewrite(root, matcher)


@pytest.mark.usefixtures("_shallow")
@pytest.mark.parametrize("mode", [{"bottom_up": True}, {"bottom_up": True, "walk": True}], ids=str)
@pytest.mark.parametrize("name", LOOPS)
def test_so_they_are_before_the_sources(name: str, mode: dict[str, bool]) -> None:
    matcher, root, op = LOOPS[name]
    if "walk" in mode and name not in GROWING:
        graph_rewrite(root, matcher, **mode)
        return
    with pytest.raises(RewriteError, match=f"fixed point at {op}"):
        graph_rewrite(root, matcher, **mode)


@pytest.mark.usefixtures("_shallow")
@pytest.mark.parametrize("name", LOOPS)
def test_so_they_are_beside_rules_for_later(name: str) -> None:
    matcher, root, op = LOOPS[name]
    with pytest.raises(RewriteError, match=f"fixed point at {op}"):
        graph_rewrite(root, PatternMatcher(), bpm=matcher)


@pytest.mark.usefixtures("_shallow")
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("bottom_up", [False, True])
@pytest.mark.parametrize("name", LOOPS)
def test_the_error_names_the_stage_the_rules_and_the_node(
    name: str, bottom_up: bool, recorded: bool
) -> None:
    matcher, root, op = LOOPS[name]
    with contextlib.ExitStack() as stack:
        if recorded:
            stack.enter_context(recording())
        caught = stack.enter_context(pytest.raises(RewriteError))
        graph_rewrite(root, matcher, bottom_up=bottom_up, name="some stage")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"some stage: rules do not reach a fixed point at {op}")
    rule = matcher.rules[0][1]
    place = rf"{rule.__name__} \(.*test_rewrite.py:{rule.__code__.co_firstlineno}\)"
    assert re.fullmatch(rf"  rules: {place}", lines[1]), lines[1]
    assert lines[2].startswith("  node: ") and lines[3].startswith("  result: ")
    assert max(map(len, lines)) < 400


def test_all_rules_of_a_loop_are_named() -> None:
    def to_product(x: UOp) -> UOp:
        return x.replace(op=Ops.MUL)

    def to_sum(x: UOp) -> UOp:
        return x.replace(op=Ops.ADD)

    matcher = PatternMatcher(
        [(UPat(Ops.ADD, name="x"), to_product), (UPat(Ops.MUL, name="x"), to_sum)]
    )
    with pytest.raises(RewriteError, match=r"to_product .*to_sum |to_sum .*to_product ") as caught:
        graph_rewrite(a * (a + b) * b, matcher)
    assert "node: " in str(caught.value)


@pytest.mark.usefixtures("_shallow")
def test_new_sources_before_old_ones_do_not_count_as_growth() -> None:
    """A rule that fires once at each of many nested nodes ends, however many there are."""

    def double(x: UOp) -> UOp:
        return UOp(Ops.MUL, (UOp(Ops.SQRT, (x.src[0],)), UOp.const(2)))

    node = a
    for _ in range(5_000):
        node = UOp(Ops.ADD, (node, UOp.const(1)))
    matcher = PatternMatcher([(UPat(Ops.ADD, name="x"), double)])
    result = graph_rewrite(node, matcher, bottom_up=True)
    assert [u.op for u in result.toposort()].count(Ops.SQRT) == 5_000


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
