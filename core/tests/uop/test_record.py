from __future__ import annotations

import pytest

from tg_core.config import Context
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat, graph_rewrite
from tg_core.uop.record import recorded_pass, recorded_section, recorder, recording
from tg_core.uop.symbolic import simplify

r0, r1 = UOp.range(8, 0), UOp.range(4, 1)


def double(x: UOp) -> UOp:
    """`x + x -> x * 2`."""
    return x * 2


doubling = PatternMatcher([(UPat(Ops.ADD, (UPat.var("x"), UPat.var("x"))), double)])


def test_nothing_is_recorded_by_default() -> None:
    assert recorder() is None


def test_stage_graphs_rules_and_places() -> None:
    before = (r0 + r0) + (r1 + r1)
    with recording() as recorded:
        after = graph_rewrite(before, doubling, name="double")
    (stage,) = recorded.stages
    assert (stage.name, stage.before, stage.after) == ("double", before, after)
    assert [(f.rule, f.before, f.after) for f in stage.firings] == [
        ("double", r1 + r1, r1 * 2),
        ("double", r0 + r0, r0 * 2),
    ]
    line = double.__code__.co_firstlineno
    assert stage.firings[0].location.endswith(f"test_record.py:{line}")
    assert list(stage.counts().values()) == [2]


def test_unnamed_stages_say_what_they_match_with() -> None:
    with recording() as recorded:
        graph_rewrite(r0 + r0, doubling)
    assert recorded.stages[0].name == "rewrite with double"


def test_result_is_the_same_with_recording() -> None:
    node = (r0 * 4 + r1) // 4 + (r0 * 4 + r1) % 4
    plain = simplify(node)
    with recording():
        assert simplify(node) is plain


def test_rewrites_inside_rules_are_nested() -> None:
    def outer(x: UOp) -> UOp:
        return graph_rewrite(x + x, doubling, name="inner")

    matcher = PatternMatcher([(UPat(Ops.FLOORDIV, (UPat.var("x"), UPat.const(3))), outer)])
    with recording() as recorded:
        graph_rewrite(r0 // 3, matcher, name="outer")
    assert [(s.name, s.depth, len(s.firings)) for s in recorded.stages] == [
        ("outer", 0, 1),
        ("inner", 1, 1),
    ]


def test_a_failing_rule_leaves_its_stage_open_ended() -> None:
    def fail(x: UOp) -> UOp:
        raise ZeroDivisionError

    matcher = PatternMatcher([(UPat(Ops.ADD, (UPat.var("x"), UPat.var())), fail)])
    with recording() as recorded:
        with pytest.raises(ZeroDivisionError):
            graph_rewrite(r0 + r1, matcher)
        graph_rewrite(r0 + r0, doubling)
    assert recorded.stages[0].after is None
    assert recorded.stages[1].depth == 0


def test_plain_steps() -> None:
    with recording() as recorded:
        recorded.step("linearize", r0, r1)
    assert recorded.stages[0].name == "linearize"
    assert recorded.stages[0].firings == []


def test_context_variable_turns_recording_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import tg_core.uop.record as record

    monkeypatch.setattr(record, "active", [])
    with Context(VIZ=1):
        graph_rewrite(r0 + r0, doubling, name="seen")
        active = recorder()
    assert active is not None
    assert [s.name for s in active.stages] == ["seen"]


def test_stages_inside_a_pass_are_deeper() -> None:
    with recording() as recorded:
        made = recorded_pass("outer", r0 + r0, graph_rewrite, r0 + r0, doubling)
    outer, inner = recorded.stages
    assert (outer.name, outer.depth, inner.depth) == ("outer", 0, 1)
    assert outer.before is r0 + r0
    assert outer.after is inner.after is made
    assert outer.firings == []
    assert len(inner.firings) == 1


def test_stages_know_their_section() -> None:
    with recording() as recorded:
        with recorded_section("schedule", "first") as around:
            recorded_pass("a", r0, same, r0)
            with recorded_section("kernel", "inside"):
                recorded_pass("b", r0, same, r0)
            recorded_pass("c", r0, same, r0)
        with recorded_section("schedule", "second"):
            pass
        recorded_pass("d", r0, same, r0)
    assert around is recorded.sections[0]
    assert [(s.kind, s.number, s.name) for s in recorded.sections] == [
        ("schedule", 1, "first"),
        ("kernel", 1, "inside"),
        ("schedule", 2, "second"),
    ]
    names = [s.section and s.section.name for s in recorded.stages]
    assert names == ["first", "inside", "first", None]


def test_passes_and_sections_run_without_recording() -> None:
    assert recorded_pass("a", r0, same, r0) is r0
    with recorded_section("kernel", "k") as section:
        assert section is None


def same(node: UOp) -> UOp:
    return node
