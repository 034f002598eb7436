from __future__ import annotations

import pytest

import tg_core
from tg_core.config import Context
from tg_core.uop.recorder import Recorder
from tg_core.viz.report import Report, build_report
from tg_core.viz.run_script import run_script
from tg_core.viz.terminal import print_report, report_lines

PROGRAM = """
from tg_core import Tensor
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
(x @ x).relu().sum(axis=1).tolist()
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    script = tmp_path_factory.mktemp("explain") / "program.py"
    script.write_text(PROGRAM, encoding="utf-8")
    with Context(DEV="PYTHON"):
        return build_report(run_script(script).recorder, "program.py")


def test_the_terminal_lists_every_stage(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(report, limit=5, code=True)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    lines = [line.strip() for line in printed.splitlines()]
    for stage in report.stages:
        assert any(line.startswith(f"{stage.name}: ") for line in lines)
    for name, location in report.rules:
        assert any(line.startswith(f"{name} ({location}) x") for line in lines)
    assert "source" in lines


def test_long_changes_are_cut_and_say_so(report: Report) -> None:
    lines = [line for line, _ in report_lines(report, limit=1, code=False)]
    cut = [line for line in lines if line.endswith("more changed lines")]
    assert cut
    full = [line for line, _ in report_lines(report, limit=10**6, code=False)]
    assert not any(line.endswith("more changed lines") for line in full)


def test_a_failed_stage_is_shown_as_failed() -> None:
    recorder = Recorder()
    node = tg_core.UOp.const(1) + 2

    def fail() -> tg_core.UOp:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        recorder.run("broken", node, fail)
    report = build_report(recorder, "t", "ZeroDivisionError")
    lines = [line for line, _ in report_lines(report, 5, code=False)]
    assert "  broken: failed on 3 nodes" in lines
    assert lines[-1] == "the program did not end well: ZeroDivisionError"


def test_counts_of_one_are_singular() -> None:
    recorder = Recorder()
    with recorder.section("kernel", "k"):
        recorder.step("only", tg_core.UOp.const(1), tg_core.UOp.const(1))
    lines = [line for line, _ in report_lines(build_report(recorder, "t"), 5, code=False)]
    assert lines == [
        "kernel 1: k: 1 stage, 0 changed the graph",
        "  only: no change, 1 node",
        "0 schedules, 1 kernel, 1 stage, 0 rewrites by 0 rules",
    ]


def test_a_terminal_gets_colours(
    report: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_report(report, limit=1, code=False)
    assert "\x1b[" in capsys.readouterr().out
