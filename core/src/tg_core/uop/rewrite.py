"""Rewriting a graph with a matcher until nothing changes."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

from tg_core.errors import RewriteError
from tg_core.uop.graph import has_own_body, toposort
from tg_core.uop.opcodes import Ops
from tg_core.uop.record import recorder
from tg_core.uop.uop import UOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.uop.pattern import PatternMatcher, Rewrite

_CALL = Ops.CALL
_ENTER, _SOURCES_DONE, _RESULT_DONE = 0, 1, 2
_BUDGET = 1000
"""Rewrites of one node, results of its results included, before the rules are taken to loop."""
_DEPTH = 20_000
"""Results within results of results, before the rules are taken to grow the graph for ever."""
_SHOWN = 300
"""Characters of a node in an error."""


def graph_rewrite(
    root: UOp,
    matcher: PatternMatcher,
    ctx: Any = None,
    *,
    bottom_up: bool = False,
    walk: bool = False,
    bpm: PatternMatcher | None = None,
    enter_calls: bool = False,
    name: str | None = None,
) -> UOp:
    """Apply a matcher to a whole graph.

    By default a node's sources are rewritten before the node, and what a rule returns is rewritten
    again, until no rule applies.

    Args:
        root: the graph.
        matcher: the rules.
        ctx: handed to rules that have a parameter `ctx`.
        bottom_up: apply the rules to a node before its sources.
        walk: visit every node once; results are not rewritten again.
        bpm: rules applied to a node before its sources, with `matcher` applied after them.
        enter_calls: rewrite the bodies of CALLs too.
        name: the stage as recordings show it.

    Raises:
        RewriteError: rules undo each other or grow the graph for ever; names the node and the
            rules.
    """
    before = matcher if bottom_up else bpm
    after = None if bottom_up else matcher
    record = recorder()
    try:
        if record is not None:
            return record.rewrite(
                _rewrite, root, matcher, ctx, bottom_up, walk, bpm, enter_calls, name
            )
        return _rewrite(
            root,
            None if before is None else before.for_op,
            None if after is None else after.for_op,
            ctx,
            walk,
            enter_calls,
            None if before is not None or walk or enter_calls or ctx is not None else matcher.mark,
        )
    except _Endless as endless:
        rules = _rules_at(endless.node, before, after, ctx, walk, enter_calls)
        raise _no_fixed_point(name, endless, rules) from None


class _Endless(Exception):
    """A budget is used up at a node; `result` is what the last rule made of it."""

    def __init__(self, node: UOp, result: UOp) -> None:
        super().__init__()
        self.node, self.result = node, result


Lookup = Any
"""A function from an operation to the compiled rules that can match it, or None."""


def _rewrite(
    root: UOp,
    before: Lookup,
    after: Lookup,
    ctx: Any,
    walk: bool,
    enter_calls: bool,
    mark: str | None = None,
) -> UOp:
    done: dict[UOp, UOp] = {}
    open_results: dict[UOp, int] = {}
    depth_of: dict[UOp, int] = {}
    given: set[UOp] | None = None
    stack: list[tuple[UOp, int, UOp]] = [(root, _ENTER, root)]
    while stack:
        node, state, current = stack.pop()
        if node in done:
            continue
        if state == _RESULT_DONE:
            done[node] = done[current]
            continue
        if state == _ENTER:
            if mark in node.__dict__:
                done[node] = node
                continue
            if before is not None:
                current = _apply_before(node, before, ctx, walk)
                if current is not node:
                    _count(node, current, open_results)
            skips = current.op is _CALL and not enter_calls and has_own_body(current)
            sources = current.src[1:] if skips else current.src
            pending = [s for s in sources if s not in done]
            # what a rule returns is mostly made of finished nodes and needs no second turn
            if pending:
                if before is not None and (current is not node or node in depth_of):
                    if given is None:
                        given = set(toposort((root,)))
                    depth = depth_of.get(node, 0) + (current is not node)
                    if depth > _DEPTH:
                        raise _Endless(node, current)
                    # what the graph had before is rewritten once, however deep it lies
                    new = [s for s in pending if s not in given and s not in depth_of]
                    depth_of.update((s, depth) for s in new)
                elif node in depth_of:
                    # parts of a result that are new, or that are being rewritten further out
                    depth_of.update((s, depth_of[node]) for s in pending if s not in depth_of)
                stack.append((node, _SOURCES_DONE, current))
                stack.extend([(s, _ENTER, s) for s in pending])
                continue
        rebuilt = _with_sources(current, done, enter_calls)
        function = None if after is None else after(rebuilt.op)
        result = None if function is None else function(rebuilt, ctx)
        if result is None:
            done[node] = rebuilt
            if not walk and before is None:
                done[rebuilt] = rebuilt
                if mark is not None:
                    rebuilt.__dict__[mark] = True
        elif walk:
            done[node] = result
        elif result in done:
            done[node] = done[result]
        else:
            open_results[result] = _count(node, result, open_results)
            depth = depth_of[result] = depth_of.get(node, 0) + 1
            if depth > _DEPTH:
                raise _Endless(node, result)
            stack.append((node, _RESULT_DONE, result))
            stack.append((result, _ENTER, result))
    return done[root]


def _count(node: UOp, result: UOp, counts: dict[UOp, int]) -> int:
    """Count a rewrite of a node, whose results inherit the count, and check it."""
    count = counts[node] = counts.get(node, 0) + 1
    if count > _BUDGET:
        raise _Endless(node, result)
    return count


def _rules_at(
    node: UOp,
    before: PatternMatcher | None,
    after: PatternMatcher | None,
    ctx: Any,
    walk: bool,
    enter_calls: bool,
) -> list[str]:
    """Return which rules fire last when a node that has no fixed point is rewritten once more."""
    from tg_core.uop.recorder import location_of

    last: deque[str] = deque(maxlen=50)

    def fired(rule: Rewrite, _before: UOp, _after: UOp) -> None:
        last.append(f"{rule.__qualname__} ({location_of(rule)})")

    def traced(matcher: PatternMatcher | None) -> Lookup:
        if matcher is None:
            return None
        compiled: dict[Ops, Any] = {}

        def lookup(op: Ops) -> Any:
            if op not in compiled:
                compiled[op] = matcher.traced(op, fired)
            return compiled[op]

        return lookup

    with contextlib.suppress(_Endless):
        _rewrite(node, traced(before), traced(after), ctx, walk, enter_calls)
    return list(dict.fromkeys(last))


def _no_fixed_point(stage: str | None, endless: _Endless, rules: list[str]) -> RewriteError:
    from tg_core.uop.printer import render

    node, result = endless.node, endless.result
    return RewriteError(
        f"{stage or 'rewrite'}: rules do not reach a fixed point at {node.op.name};"
        f" last result {result.op.name}\n  rules: {', '.join(rules) or 'unknown'}"
        f"\n  node: {render(node)[:_SHOWN]}\n  result: {render(result)[:_SHOWN]}"
    )


def _apply_before(node: UOp, before: Lookup, ctx: Any, walk: bool) -> UOp:
    current = node
    for _ in range(_BUDGET):
        function: Callable[[UOp, Any], UOp | None] | None = before(current.op)
        result = None if function is None else function(current, ctx)
        if result is None:
            return current
        current = result
        if walk:
            return current
    raise _Endless(node, current)


def _with_sources(node: UOp, done: dict[UOp, UOp], enter_calls: bool) -> UOp:
    src = node.src
    if node.op is _CALL and not enter_calls and has_own_body(node):
        replaced = (src[0], *[done[s] for s in src[1:]])
        return node if replaced == src else UOp(node.op, replaced, node.arg, node.tag)
    for source in src:
        if done[source] is not source:
            return UOp(node.op, tuple([done[s] for s in src]), node.arg, node.tag)
    return node
