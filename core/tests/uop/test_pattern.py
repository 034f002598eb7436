"""Patterns: what each form accepts, in which order rules apply, what functions receive."""

from __future__ import annotations

from typing import Any

import pytest

from tg_core.dtype import dtypes
from tg_core.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat, Variable

a, b, c = (Variable(name, 0, 9) for name in "abc")
X, Y = UPat.var("x"), UPat.var("y")
HIT = UOp(Ops.NOOP, (), None, "hit")


def hit() -> UOp:
    return HIT


def matches(pattern: UPat, node: UOp) -> bool:
    return PatternMatcher([(pattern, hit)]).rewrite(node) is HIT


def bound(pattern: UPat, node: UOp, *names: str) -> tuple[UOp, ...] | None:
    """Return what the pattern binds to names."""
    found: list[tuple[UOp, ...]] = []
    scope: dict[str, Any] = {"found": found}
    exec(f"def keep({', '.join(names)}):\n found.append(({', '.join(names)},))", scope)
    PatternMatcher([(pattern, scope["keep"])]).rewrite(node)
    return found[0] if found else None


def test_operations() -> None:
    assert matches(UPat(Ops.ADD), a + b)
    assert not matches(UPat(Ops.ADD), a * b)
    assert matches(UPat((Ops.ADD, Ops.MUL)), a * b)
    assert matches(UPat(GroupOp.Binary), a // b)
    assert not matches(UPat(GroupOp.Comparison), a + b)
    assert matches(UPat(), a)


def test_sources_in_order() -> None:
    pattern = UPat(Ops.ADD, (UPat(Ops.MUL), UPat.var("x")))
    assert bound(pattern, a * b + c, "x") == (c,)
    assert not matches(pattern, c + a * b)
    assert not matches(UPat(Ops.SINK, (X,)), UOp.sink(a, b))
    assert not matches(UPat(Ops.SINK, (X, Y)), UOp.sink(a))
    assert matches(UPat(Ops.SINK, ()), UOp.sink())


def test_sources_in_any_order() -> None:
    pattern = UPat(Ops.SINK, [UPat(Ops.MUL, name="m"), UPat.var("x"), UPat(Ops.CONST, name="k")])
    for sources in ((a * b, c, UOp.const(1)), (UOp.const(1), a * b, c), (c, UOp.const(1), a * b)):
        assert bound(pattern, UOp.sink(*sources), "m", "x", "k") == (a * b, c, UOp.const(1))
    assert not matches(pattern, UOp.sink(a, b, UOp.const(1)))


def test_one_pattern_for_every_source() -> None:
    pattern = UPat(Ops.SINK, UPat(Ops.PARAM))
    assert matches(pattern, UOp.sink(a, b, c))
    assert matches(pattern, UOp.sink())
    assert not matches(pattern, UOp.sink(a, a + b))


def test_more_sources_than_named() -> None:
    pattern = UPat(Ops.SINK, (X,), allow_any_len=True)
    assert bound(pattern, UOp.sink(a, b, c), "x") == (a,)
    assert bound(pattern, UOp.sink(a), "x") == (a,)
    assert not matches(pattern, UOp.sink())


def test_repeated_names_are_one_node() -> None:
    assert matches(X + X, a + a)
    assert not matches(X + X, a + b)
    pattern = (X * Y) + X
    for node in (a * b + a, b * a + a, a + a * b, a + b * a):
        assert bound(pattern, node, "x", "y") == (a, b)
    assert not matches(pattern, a * b + c)
    deep = UPat(Ops.SINK, (UPat(Ops.MUL, (X, Y)), UPat(Ops.ADD, (Y, X))))
    assert matches(deep, UOp.sink(a * b, b + a))
    assert not matches(deep, UOp.sink(a * b, a + b))


def test_names_of_inner_nodes_and_the_root() -> None:
    pattern = UPat(Ops.ADD, (UPat(Ops.MUL, (X, Y), name="product"), UPat()), name="sum")
    assert bound(pattern, a * b + c, "sum", "product", "y") == (a * b + c, a * b, b)
    assert bound((X + Y).named("sum"), a + b, "sum") == (a + b,)


def test_commutative_operators_match_both_ways_and_others_do_not() -> None:
    zero = UOp.const(0)
    assert matches(X + 0, UOp(Ops.ADD, (a, zero)))
    assert matches(X + 0, UOp(Ops.ADD, (zero, a)))
    assert matches(0 + X, UOp(Ops.ADD, (a, zero)))
    assert matches(X - 0, UOp(Ops.SUB, (a, zero)))
    assert not matches(X - 0, UOp(Ops.SUB, (zero, a)))
    assert matches(0 - X, UOp(Ops.SUB, (zero, a)))
    assert bound(X < Y, UOp(Ops.CMPLT, (a, b)), "x", "y") == (a, b)
    assert bound(X > Y, UOp(Ops.CMPLT, (a, b)), "x", "y") == (b, a)


OPERATORS: list[tuple[UPat, Ops]] = [
    (X + Y, Ops.ADD), (X - Y, Ops.SUB), (X * Y, Ops.MUL), (X / Y, Ops.FDIV), (X // Y, Ops.FLOORDIV), (X % Y, Ops.FLOORMOD),
    (X & Y, Ops.AND), (X | Y, Ops.OR), (X ^ Y, Ops.XOR), (X << Y, Ops.SHL), (X >> Y, Ops.SHR), (X.ne(Y), Ops.CMPNE),
    (X.eq(Y), Ops.CMPEQ), (X.maximum(Y), Ops.MAX), (X < Y, Ops.CMPLT),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "op"), OPERATORS, ids=lambda v: v.name if isinstance(v, Ops) else ""
)
def test_operators(pattern: UPat, op: Ops) -> None:
    assert bound(pattern, UOp(op, (a, b)), "x", "y") == (a, b)
    assert not matches(pattern, UOp(Ops.POW, (a, b)))


def test_three_operands_casts_and_loads() -> None:
    condition = a < b
    assert bound(UPat.var("q").where(X, Y), condition.where(a, c), "q", "x", "y") == (
        condition,
        a,
        c,
    )
    cast = a.cast(dtypes.int8)
    assert matches(X.cast(), cast)
    assert matches(X.cast(dtypes.int8), cast)
    assert not matches(X.cast(dtypes.int16), cast)
    load = UOp.param(0, dtypes.int8, (4,)).index(a).load()
    assert matches(UPat(Ops.INDEX).load(), load)


def test_constants_of_every_width() -> None:
    for node in (
        UOp.const(2),
        UOp.const(2, dtypes.int8),
        UOp.const(2.0),
        UOp.const(2, dtypes.float16),
    ):
        assert matches(UPat.const(2), node), node
        assert matches(UPat.cvar("k"), node)
    assert not matches(UPat.const(2), UOp.const(3))
    assert not matches(UPat.const(44), UOp.const(44, dtypes.int8).cast(dtypes.bool))
    assert matches(UPat.const(44), UOp.const(300, dtypes.uint8))
    assert not matches(UPat.cvar("k"), a.cast(dtypes.int8))
    assert matches(UPat.const(2, dtype=dtypes.int8), UOp.const(2, dtypes.int8))
    assert not matches(UPat.const(2, dtype=dtypes.int8), UOp.const(2))


def test_dtypes_and_arguments() -> None:
    node = a.cast(dtypes.int8) + UOp.const(1, dtypes.int8)
    assert matches(UPat(Ops.ADD, dtype=dtypes.int8), node)
    assert matches(UPat.var("x", (dtypes.int8, dtypes.int16)), node)
    assert not matches(UPat.var("x", dtypes.int16), node)
    assert not matches(UPat.var("x", dtypes.int16), UOp.sink())
    assert matches(UPat(Ops.CAST, arg=dtypes.int8), a.cast(dtypes.int8))
    assert not matches(UPat(Ops.CAST, arg=None), a.cast(dtypes.int8))
    assert matches(UPat(Ops.SINK, arg=None), UOp.sink())


def test_alternatives() -> None:
    pattern = UPat.any(X + 1, X * 2)
    assert bound(pattern, a + 1, "x") == (a,)
    assert bound(pattern, a * 2, "x") == (a,)
    assert not matches(pattern, a * 3)
    nested = UPat(Ops.SINK, (UPat.any(UPat(Ops.CONST), UPat(Ops.PARAM)).named("leaf"),))
    assert bound(nested, UOp.sink(a), "leaf") == (a,)
    assert bound(nested, UOp.sink(UOp.const(1)), "leaf") == (UOp.const(1),)
    assert not matches(nested, UOp.sink(a + b))


def test_rules_apply_in_order_until_one_returns_a_node() -> None:
    calls: list[str] = []

    def decline(x: UOp) -> None:
        calls.append("decline")

    def same(x: UOp) -> UOp:
        calls.append("same")
        return x

    def last(x: UOp) -> UOp:
        calls.append("last")
        return HIT

    root = UPat(Ops.ADD, name="x")
    assert (
        PatternMatcher([(root, decline), (root, same), (root, last), (root, decline)]).rewrite(
            a + b
        )
        is HIT
    )
    assert calls == ["decline", "same", "last"]
    assert PatternMatcher([(root, decline)]).rewrite(a * b) is None


def test_a_rule_tries_every_way_to_match() -> None:
    def only_b(x: UOp, y: UOp) -> UOp | None:
        return HIT if x is b else None

    assert PatternMatcher([(X + Y, only_b)]).rewrite(a + b) is HIT
    assert PatternMatcher([(X + Y, only_b)]).rewrite(b + a) is HIT
    assert PatternMatcher([(X + Y, only_b)]).rewrite(a + c) is None


def test_matchers_add_and_stay_as_they_are() -> None:
    def first() -> UOp:
        return a

    def second() -> UOp:
        return b

    left, right = (
        PatternMatcher([(UPat(Ops.ADD), first)]),
        PatternMatcher([(UPat((Ops.ADD, Ops.MUL)), second)]),
    )
    both = left + right
    assert both.rewrite(a + c) is a
    assert both.rewrite(a * c) is b
    assert left.rewrite(a * c) is None
    assert (right + left).rewrite(a + c) is b


def test_context_is_handed_on() -> None:
    def rule(x: UOp, ctx: int) -> UOp:
        return x * ctx

    matcher = PatternMatcher([(UPat(Ops.PARAM, name="x"), rule)])
    assert matcher.rewrite(a, 3) is a * 3
    assert matcher.rewrite(a, 4) is a * 4


def test_a_parameter_without_a_name_in_the_pattern_is_reported() -> None:
    def rule(missing: UOp) -> UOp:
        return missing

    with pytest.raises(TypeError, match=r"rule .*rule: the pattern has no node named missing"):
        PatternMatcher([(UPat(Ops.ADD, name="x"), rule)]).rewrite(a + b)
