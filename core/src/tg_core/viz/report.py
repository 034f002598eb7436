"""What was recorded, as plain data without nodes: the terminal and the page show the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.uop.recorder import Recorder, Section, Stage
from tg_core.viz.compare import compare_graphs, compare_lines, nodes_of, shown_sources
from tg_core.viz.listing import Names, argument_of, brief, list_graph, type_of

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp
    from tg_core.uop.recorder import Firing

_ELSEWHERE = "rewrites outside of schedules and kernels"


@dataclass(frozen=True)
class NodeView:
    """A node, as the graph draws it."""

    op: str
    type: str
    argument: str
    sources: tuple[int, ...]
    """Numbers of its sources in `Report.nodes`."""


@dataclass(frozen=True)
class FiringView:
    """One application of a rule."""

    rule: int
    """Number of the rule in `Report.rules`."""
    before: str
    after: str


@dataclass
class StageView:
    """One rewrite of one graph."""

    name: str
    depth: int
    """How many stages it is inside of."""
    section: int
    """Number of its section in `Report.sections`."""
    before: int
    """Number of the graph's root in `Report.nodes`."""
    after: int | None
    """Likewise; None where the stage failed."""
    counts: tuple[int, int]
    """Nodes before and after."""
    rules: list[tuple[int, int]] = field(default_factory=list)
    """Number of each rule that fired and how often, most often first."""
    firings: list[FiringView] = field(default_factory=list)
    """In order."""
    new: list[int] = field(default_factory=list)
    """Nodes after that do what was not done before."""
    rebuilt: list[int] = field(default_factory=list)
    """Nodes after that only follow their sources."""
    gone: list[int] = field(default_factory=list)
    """Nodes before that are replaced."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Both texts: each line with ` ` for kept, `-` for gone, `+` for new."""

    @property
    def changed(self) -> bool:
        """Whether the graph that went out is not the one that came in."""
        return self.after != self.before


@dataclass
class SectionView:
    """A schedule or a kernel, or what happened outside of both."""

    kind: str
    """`schedule`, `kernel` or `other`."""
    number: int
    """Among its kind, from 1; 0 for `other`."""
    name: str
    target: str = ""
    source: str = ""
    assembly: str = ""

    @property
    def title(self) -> str:
        """One line that names it."""
        if self.kind == "other":
            return self.name
        place = f" on {self.target}" if self.target else ""
        return f"{self.kind} {self.number}: {self.name}{place}"


@dataclass
class Report:
    """Everything that is shown."""

    title: str
    problem: str = ""
    """Why the program did not end well; empty when it did."""
    sections: list[SectionView] = field(default_factory=list)
    stages: list[StageView] = field(default_factory=list)
    rules: list[tuple[str, str]] = field(default_factory=list)
    """Name and `file:line` of each rule."""
    nodes: list[NodeView] = field(default_factory=list)
    """Sources before readers. Stages share them."""

    def stages_of(self, section: int) -> list[StageView]:
        """Return the stages of a section, in order."""
        return [stage for stage in self.stages if stage.section == section]


def build_report(
    recorder: Recorder, title: str, problem: str = "", kernel: int | None = None
) -> Report:
    """Turn a recording into plain data.

    Args:
        recorder: what was recorded.
        title: of the report, the program's name.
        problem: why the program did not end well.
        kernel: number of the only kernel to keep, from 1; all and the schedules without.
    """
    builder = _Builder(Report(title, problem))
    for stage in recorder.stages:
        section = stage.section
        if kernel is not None and (
            section is None or section.kind != "kernel" or section.number != kernel
        ):
            continue
        builder.add(stage)
    return builder.report


class _Builder:
    """Numbers nodes, rules and sections as they come."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._nodes: dict[UOp, int] = {}
        self._rules: dict[tuple[str, str], int] = {}
        self._sections: list[Section | None] = []
        self._names: list[Names] = []
        self._lines: dict[tuple[int, UOp], list[str]] = {}

    def add(self, stage: Stage) -> None:
        section = self._section(stage.section)
        names = self._names[section]
        after = stage.after
        before_lines = self._listing(section, stage.before, {})
        if after is None or after is stage.before:
            size = len(nodes_of(stage.before))
            view = StageView(
                stage.name,
                stage.depth,
                section,
                self._number(stage.before),
                None if after is None else self._number(after),
                (size, size if after is not None else 0),
                lines=[(" ", line) for line in before_lines],
            )
        else:
            change = compare_graphs(stage.before, after)
            lines = self._lines[section, after] = list_graph(after, names, change.became)
            view = StageView(
                stage.name,
                stage.depth,
                section,
                self._number(stage.before),
                self._number(after),
                (len(change.before), len(change.after)),
                new=[self._nodes[node] for node in change.new],
                rebuilt=[self._nodes[node] for node in change.rebuilt],
                gone=[self._nodes[node] for node in change.gone],
                lines=compare_lines(before_lines, lines),
            )
        view.firings = [self._firing(firing) for firing in stage.firings]
        counts: dict[int, int] = {}
        for firing in view.firings:
            counts[firing.rule] = counts.get(firing.rule, 0) + 1
        view.rules = sorted(counts.items(), key=_most_often)
        self.report.stages.append(view)

    def _listing(self, section: int, root: UOp, became: dict[UOp, UOp]) -> list[str]:
        known = self._lines.get((section, root))
        if known is None:
            known = list_graph(root, self._names[section], became)
            self._lines[section, root] = known
        return known

    def _firing(self, firing: Firing) -> FiringView:
        key = firing.rule, firing.location
        if key not in self._rules:
            self._rules[key] = len(self.report.rules)
            self.report.rules.append(key)
        return FiringView(self._rules[key], brief(firing.before), brief(firing.after))

    def _section(self, section: Section | None) -> int:
        for number, known in enumerate(self._sections):
            if known is section:
                return number
        self._sections.append(section)
        self._names.append(Names())
        if section is None:
            view = SectionView("other", 0, _ELSEWHERE)
        else:
            view = SectionView(
                section.kind,
                section.number,
                section.name,
                section.target,
                section.source,
                section.assembly,
            )
        self.report.sections.append(view)
        return len(self._sections) - 1

    def _number(self, root: UOp) -> int:
        """Return the number of a node, and number all that it reads."""
        for node in nodes_of(root):
            if node not in self._nodes:
                self._nodes[node] = len(self.report.nodes)
                sources = tuple(self._nodes[s] for s in shown_sources(node))
                view = NodeView(node.op.name, type_of(node), argument_of(node), sources)
                self.report.nodes.append(view)
        return self._nodes[root]


def _most_often(item: tuple[int, int]) -> tuple[int, int]:
    return -item[1], item[0]
