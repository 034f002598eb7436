"""A report on the terminal: coloured there, plain text elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg_core.viz.report import Report, SectionView, StageView

Line = tuple[str, str]
"""A line and its style."""
_CONTEXT = 1
"""Unchanged lines shown around changed ones."""
_PLAIN = ""


def print_report(report: Report, limit: int, code: bool) -> None:
    """Print every section, stage, rule and change.

    Args:
        report: what to print.
        limit: lines of a change that are printed; the page shows all.
        code: print source and assembly, too.
    """
    show = _printer()
    for line, style in report_lines(report, limit, code):
        show(line, style)


def _printer() -> Callable[[str, str], None]:
    if not sys.stdout.isatty():
        return _print_plain
    from rich.console import Console
    from rich.text import Text

    console = Console()

    def show(line: str, style: str) -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    return show


def _print_plain(line: str, style: str) -> None:
    del style
    print(line)


def report_lines(report: Report, limit: int, code: bool) -> Iterator[Line]:
    """Yield the lines of a report with their styles; parameters are those of `print_report`."""
    for number, section in enumerate(report.sections):
        stages = report.stages_of(number)
        changed = sum(stage.changed for stage in stages)
        count = _plural(len(stages), "stage")
        yield f"{section.title}: {count}, {changed} changed the graph", "bold"
        for position, stage in enumerate(stages):
            inner = stages[position + 1 :]
            yield from _stage_lines(report, stage, inner, limit)
        if code:
            yield from _code_lines(section)
    yield _summary(report), "bold"
    if report.problem:
        yield f"the program did not end well: {report.problem}", "red"


def _summary(report: Report) -> str:
    kinds = [section.kind for section in report.sections]
    fired = sum(len(stage.firings) for stage in report.stages)
    counts = (
        (kinds.count("schedule"), "schedule"),
        (kinds.count("kernel"), "kernel"),
        (len(report.stages), "stage"),
    )
    parts = ", ".join(_plural(count, what) for count, what in counts)
    return f"{parts}, {_plural(fired, 'rewrite')} by {_plural(len(report.rules), 'rule')}"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _stage_lines(
    report: Report, stage: StageView, later: list[StageView], limit: int
) -> Iterator[Line]:
    indent = "  " * (1 + stage.depth)
    before, after = stage.counts
    if stage.after is None:
        yield f"{indent}{stage.name}: failed on {_plural(before, 'node')}", "red"
    elif not stage.changed:
        yield f"{indent}{stage.name}: no change, {_plural(before, 'node')}", "dim"
    else:
        yield f"{indent}{stage.name}: {before} -> {_plural(after, 'node')}", "cyan"
    for rule, count in stage.rules:
        name, location = report.rules[rule]
        yield f"{indent}  {name} ({location}) x{count}", "yellow"
        first = next(firing for firing in stage.firings if firing.rule == rule)
        yield f"{indent}    {first.before} -> {first.after}", _PLAIN
    if stage.changed and stage.after is not None:
        if _same_change_inside(stage, later):
            yield f"{indent}  the change is that of the next stage", "dim"
        else:
            yield from _change_lines(stage, f"{indent}  ", limit)


def _same_change_inside(stage: StageView, later: list[StageView]) -> bool:
    """Tell whether a pass is one rewrite, which follows and shows the same lines."""
    if not later or later[0].depth <= stage.depth:
        return False
    return (later[0].before, later[0].after) == (stage.before, stage.after)


def _change_lines(stage: StageView, indent: str, limit: int) -> Iterator[Line]:
    changed = [i for i, (mark, _) in enumerate(stage.lines) if mark != " "]
    near = {position for i in changed for position in range(i - _CONTEXT, i + _CONTEXT + 1)}
    shown, last = 0, -1
    for position, (mark, line) in enumerate(stage.lines):
        if position not in near:
            continue
        if shown == limit:
            rest = sum(position <= i for i in changed)
            yield f"{indent}... {_plural(rest, 'more changed line')}", "dim"
            return
        if position != last + 1:
            yield f"{indent}  ...", "dim"
        yield f"{indent}{mark} {line}", {"+": "green", "-": "red"}.get(mark, "dim")
        shown, last = shown + 1, position


def _code_lines(section: SectionView) -> Iterator[Line]:
    for title, text in (("source", section.source), ("assembly", section.assembly)):
        if text:
            yield f"  {title}", "cyan"
            for line in text.splitlines():
                yield f"    {line}", _PLAIN
