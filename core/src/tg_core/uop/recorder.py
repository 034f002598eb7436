"""What a recording holds: stages, before and after, and which rule fired where."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tg_core.support.frozen import frozen
from tg_core.uop.record import active

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg_core.uop.opcodes import Ops
    from tg_core.uop.pattern import PatternMatcher, Rewrite
    from tg_core.uop.uop import UOp


@frozen
class Firing:
    """One application of one rule."""

    rule: str
    """Qualified name of the rule's function."""
    location: str
    """`file:line` of the function."""
    before: UOp
    """The node that matched."""
    after: UOp
    """What the rule put in its place."""


@dataclass
class Section:
    """What a run of stages makes: one schedule, or one kernel."""

    kind: str
    """`schedule` or `kernel`."""
    name: str
    """What a person knows it by."""
    number: int
    """Among those of its kind, from 1."""
    target: str = ""
    """What it was made for."""
    source: str = ""
    """Generated source, once there is one."""
    assembly: str = ""
    """Machine code as text, where the target can tell."""


@dataclass
class Stage:
    """One `graph_rewrite` of a graph, or one pass around several."""

    name: str
    """Name of the stage, or the names of its first rules when it has none."""
    before: UOp
    """The graph that came in."""
    after: UOp | None = None
    """The graph that went out; None while the stage runs, or when it failed."""
    firings: list[Firing] = field(default_factory=list)
    """Rules in the order in which they fired."""
    depth: int = 0
    """How many stages were running around this one: a rule may itself rewrite."""
    section: Section | None = None
    """What it works on; None for rewrites outside of schedules and kernels."""

    def counts(self) -> dict[str, int]:
        """Count the firings of each rule.

        Returns:
            `name (file:line)` to its number of matches, most frequent first.
        """
        found: dict[str, int] = {}
        for firing in self.firings:
            label = f"{firing.rule} ({firing.location})"
            found[label] = found.get(label, 0) + 1
        return dict(sorted(found.items(), key=_by_count))


def _by_count(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


class Recorder:
    """Collects the stages that run while it is active."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        """Finished and running stages, in the order in which they began."""
        self.sections: list[Section] = []
        """Schedules and kernels, in the order in which work on them began."""
        self._open: list[Stage] = []
        self._around: list[Section] = []

    def step(self, name: str, before: UOp, after: UOp) -> None:
        """Record a transformation that is no rewrite with a matcher.

        Args:
            name: name of the pass.
            before: its input.
            after: its output.
        """
        self._begin(name, before).after = after

    def run(self, name: str, before: UOp, function: Callable[..., UOp], *arguments: Any) -> UOp:
        """Run a pass and record it, with what it rewrites as stages inside.

        Args:
            name: name of the pass.
            before: its input.
            function: called with the arguments; returns its output.
            arguments: of the function.
        """
        stage = self._begin(name, before)
        self._open.append(stage)
        try:
            stage.after = function(*arguments)
        finally:
            self._open.pop()
        return stage.after

    @contextlib.contextmanager
    def section(self, kind: str, name: str) -> Iterator[Section]:
        """Record the stages of a block as those of one schedule or kernel.

        Args:
            kind: `schedule` or `kernel`.
            name: what a person knows it by.

        Yields:
            The section, to be filled with what the block makes.
        """
        number = 1 + sum(known.kind == kind for known in self.sections)
        made = Section(kind, name, number)
        self.sections.append(made)
        self._around.append(made)
        try:
            yield made
        finally:
            self._around.pop()

    def _begin(self, name: str, before: UOp) -> Stage:
        section = self._around[-1] if self._around else None
        stage = Stage(name, before, depth=len(self._open), section=section)
        self.stages.append(stage)
        return stage

    def rewrite(
        self,
        engine: Callable[..., UOp],
        root: UOp,
        matcher: PatternMatcher,
        ctx: Any,
        bottom_up: bool,
        walk: bool,
        bpm: PatternMatcher | None,
        enter_calls: bool,
        name: str | None,
    ) -> UOp:
        """Run a rewrite through `engine` and record it; parameters are those of `graph_rewrite`."""
        before = matcher if bottom_up else bpm
        after = None if bottom_up else matcher
        stage = self._begin(name or _describe(matcher), root)
        self._open.append(stage)
        try:
            stage.after = engine(root, _traced(before), _traced(after), ctx, walk, enter_calls)
        finally:
            self._open.pop()
        return stage.after

    def fired(self, rule: Rewrite, before: UOp, after: UOp) -> None:
        """Record one application of a rule in the innermost running stage."""
        if self._open:
            firing = Firing(rule.__qualname__, location_of(rule), before, after)
            self._open[-1].firings.append(firing)


_compiled: weakref.WeakKeyDictionary[PatternMatcher, dict[Ops, Any]] = weakref.WeakKeyDictionary()
"""Compiled rules that report what fires; compiling takes far longer than a rewrite."""


def _traced(matcher: PatternMatcher | None) -> Callable[[Ops], Any] | None:
    if matcher is None:
        return None
    rules = matcher
    known = _compiled.setdefault(rules, {})

    def lookup(op: Ops) -> Any:
        if op not in known:
            known[op] = rules.traced(op, _report)
        return known[op]

    return lookup


def _report(rule: Rewrite, before: UOp, after: UOp) -> None:
    if active:
        active[-1].fired(rule, before, after)


def location_of(rule: Rewrite) -> str:
    """Give the place of a rule in the source.

    Args:
        rule: the function of a rule.

    Returns:
        `file:line`, the file relative to the package it belongs to.
    """
    code = getattr(inspect.unwrap(rule), "__code__", None)
    if code is None:
        return "unknown"
    file = code.co_filename.replace("\\", "/")
    package = rule.__module__.split(".")[0]
    start = file.rfind(f"/{package}/")
    return f"{file[start + 1 :] if start >= 0 else file}:{code.co_firstlineno}"


def _describe(matcher: PatternMatcher) -> str:
    names = [function.__name__ for _, function in matcher.rules[:2]]
    return f"rewrite with {', '.join(names) or 'no rules'}"
