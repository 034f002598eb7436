"""Rewriting a graph with a matcher until nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.errors import RewriteError
from tg_core.uop.graph import has_own_body
from tg_core.uop.opcodes import Ops
from tg_core.uop.record import recorder
from tg_core.uop.uop import UOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_core.uop.pattern import PatternMatcher

_CALL = Ops.CALL
_ENTER, _SOURCES_DONE, _RESULT_DONE = 0, 1, 2
_BUDGET = 1000
"""Rewrites of one node, results of its results included, before the rules are taken to loop."""
_DEPTH = 20_000
"""Results within results of results, before the rules are taken to grow the graph for ever."""


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
        RewriteError: rules undo each other; names the node and the rules.
    """
    record = recorder()
    if record is not None:
        return record.rewrite(_rewrite, root, matcher, ctx, bottom_up, walk, bpm, enter_calls, name)
    before = matcher if bottom_up else bpm
    after = None if bottom_up else matcher
    return _rewrite(
        root,
        None if before is None else before.for_op,
        None if after is None else after.for_op,
        ctx,
        walk,
        enter_calls,
        None if before is not None or walk or enter_calls or ctx is not None else matcher.mark,
    )


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
                if node in depth_of:
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
                raise _no_fixed_point(node, result)
            stack.append((node, _RESULT_DONE, result))
            stack.append((result, _ENTER, result))
    return done[root]


def _count(node: UOp, result: UOp, counts: dict[UOp, int]) -> int:
    """Count a rewrite of a node, whose results inherit the count, and check it."""
    count = counts[node] = counts.get(node, 0) + 1
    if count > _BUDGET:
        raise _no_fixed_point(node, result)
    return count


def _no_fixed_point(node: UOp, result: UOp) -> RewriteError:
    return RewriteError(
        f"rewrite: rules do not reach a fixed point at {node.op.name}; last result {result.op.name}"
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
    raise _no_fixed_point(node, current)


def _with_sources(node: UOp, done: dict[UOp, UOp], enter_calls: bool) -> UOp:
    src = node.src
    if node.op is _CALL and not enter_calls and has_own_body(node):
        replaced = (src[0], *[done[s] for s in src[1:]])
        return node if replaced == src else UOp(node.op, replaced, node.arg, node.tag)
    for source in src:
        if done[source] is not source:
            return UOp(node.op, tuple([done[s] for s in src]), node.arg, node.tag)
    return node
