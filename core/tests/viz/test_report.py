"""A real program's recording: every stage is there, and every rule is where the report says."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import tg_core
from tg_core.codegen.pipeline import pipeline
from tg_core.config import Context
from tg_core.tensor import Tensor
from tg_core.viz.report import Report, build_report
from tg_core.viz.run_script import Outcome, run_script

PROGRAM = """
from tg_core import Tensor
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
print(((x @ x).relu().sum(axis=1) * 1 + 0).tolist())
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    script = tmp_path_factory.mktemp("explain") / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    with Context(DEV="PYTHON"):
        return run_script(script)


@pytest.fixture(scope="module")
def report(outcome: Outcome) -> Report:
    return build_report(outcome.recorder, "program.py")


def test_schedules_and_kernels_are_sections(report: Report) -> None:
    kinds = [section.kind for section in report.sections]
    assert kinds.count("schedule") >= 1
    assert kinds.count("kernel") >= 1
    assert {section.target for section in report.sections if section.kind == "kernel"} == {"PYTHON"}
    assert all(section.source for section in report.sections if section.kind == "kernel")


def test_every_pass_of_every_kernel_is_a_stage(report: Report) -> None:
    for number, section in enumerate(report.sections):
        if section.kind == "kernel":
            passes = [stage.name for stage in report.stages_of(number) if stage.depth == 0]
            assert passes == [step.name for step in pipeline]


def test_the_steps_of_a_schedule_are_stages(report: Report) -> None:
    number = next(i for i, s in enumerate(report.sections) if s.kind == "schedule")
    names = [stage.name for stage in report.stages_of(number)]
    wanted = ["prepare-graph", "insert-temporaries", "order-kernels", "plan-memory"]
    assert [name for name in names if name in wanted] == wanted


def test_every_rule_is_where_the_report_says(report: Report) -> None:
    assert report.rules
    package = Path(tg_core.__file__).parent
    for name, location in report.rules:
        file, line = location.split(":")
        source = (package.parent / file).read_text(encoding="utf-8").splitlines()
        # Python counts a function from its first decorator
        head = source[int(line) - 1 : int(line) + 4]
        assert any(f"def {name.split('.')[-1]}(" in text for text in head)


def test_counts_agree_with_firings(report: Report) -> None:
    for stage in report.stages:
        assert sum(count for _, count in stage.rules) == len(stage.firings)
        if stage.firings:
            assert all(firing.before != "" for firing in stage.firings)


def test_a_stage_without_change_has_no_marks(report: Report) -> None:
    for stage in report.stages:
        if not stage.changed:
            assert not (stage.new or stage.rebuilt or stage.gone)
            assert {mark for mark, _ in stage.lines} <= {" "}


def test_stages_follow_each_other(report: Report) -> None:
    for number, section in enumerate(report.sections):
        if section.kind == "kernel":
            passes = [stage for stage in report.stages_of(number) if stage.depth == 0]
            for earlier, later in itertools.pairwise(passes):
                assert earlier.after == later.before


def test_nodes_are_shared_and_in_order(report: Report) -> None:
    for number, node in enumerate(report.nodes):
        assert all(source < number for source in node.sources)
    assert len(report.nodes) < sum(sum(stage.counts) for stage in report.stages) / 3


def test_one_kernel_alone(outcome: Outcome) -> None:
    only = build_report(outcome.recorder, "program.py", kernel=1)
    assert [(s.kind, s.number) for s in only.sections] == [("kernel", 1)]
    assert build_report(outcome.recorder, "program.py", kernel=99).stages == []


def test_nothing_is_recorded_when_off() -> None:
    import tg_core.uop.record as record

    assert record.recorder() is None
    assert Tensor([1.0, 2.0], device="PYTHON").sum().item() == 3.0
    assert record.recorder() is None
