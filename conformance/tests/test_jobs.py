"""Runs in several processes: the same reports, and nothing lost where one of them ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from suite_runs import install_planted, run_suite

from tg_conformance import runner
from tg_conformance.plan import Plan, Planned, read_plan, write_plan

KILLER = """\
import os
import signal

import pytest


def pytest_runtest_setup(item):
    if os.environ["TG_KILL"] in item.name:
        os.kill(os.getpid(), signal.SIGKILL)
"""
HEADER = "test_the_report_header_is_lines_of_text"
LEVEL_0 = ("--device", "PYTHON", "--level", "0")


def killing(folder: Path, name: str) -> dict[str, str]:
    """Return variables under which `-p killer` ends the process before tests of this name."""
    (folder / "killer.py").write_text(KILLER)
    return {"PYTHONPATH": str(folder), "TG_KILL": name}


def test_reports_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    known.write_text(f"test_level0_discovery.py::{HEADER}  # prints a number\n")
    fault = {"PYTHONPATH": install_planted(tmp_path / "site"), "TG_PLANTED": "header without text"}
    found = {}
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        folder.mkdir()
        files = [folder / "report.xml", folder / "report.html"]
        options = [text for file in files for text in ("--report", str(file))]
        options += ["--device", "PLANTED", "--level", "0-1", "-k", "discovery or allocation"]
        options += ["--expected-failures", str(known), "--jobs", jobs]
        run = run_suite(folder, *options, **fault)
        assert run.code == 0, run.output
        assert run.report["passed"] > 20
        assert run.report["xfailed"] == 1
        texts = [re.sub(r'time="[0-9.]+"', "", file.read_text()) for file in files]
        found[jobs] = [(folder / "report.json").read_text(), *texts]
    assert found["1"] == found["2"]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (f"test_level0_discovery.py::{HEADER}  # prints", 1, "[XPASS(strict)] prints"),
        ("test_level9.py::test_x  # gone", 4, "names no test of the suite"),
    ],
)
def test_expected_failures_are_exact_in_workers(
    line: str, code: int, message: str, tmp_path: Path
) -> None:
    known = tmp_path / "known.txt"
    known.write_text(line)
    options = [*LEVEL_0, "-k", "header", "--expected-failures", str(known)]
    run = run_suite(tmp_path, *options, "-n", "2")
    assert run.code == code, run.output
    assert message in " ".join(run.output.split())
    assert "INTERNALERROR" not in run.output


def test_a_test_that_ends_its_worker_has_failed_and_others_run(tmp_path: Path) -> None:
    run = run_suite(tmp_path, *LEVEL_0, "-n", "2", "-p", "killer", **killing(tmp_path, HEADER))
    assert run.code == 1, run.output
    (failure,) = run.report["failures"]
    assert failure["test"] == f"test_level0_discovery.py::{HEADER}"
    assert "crashed while running" in failure["message"]
    assert failure["level"] == 0
    assert run.report["passed"] == len(run.report["tests"]) - 1 > 10
    assert run.report["problems"] == ["processes of the run that ended too early: 1"]
    assert run.report["level"] is None


def test_tests_that_no_worker_lives_to_run_have_failed(tmp_path: Path) -> None:
    options = ["-n", "2", "--max-worker-restart", "1", "-p", "killer"]
    run = run_suite(tmp_path, *LEVEL_0, *options, **killing(tmp_path, "test_"))
    assert run.code != 0, run.output
    assert run.report["passed"] == 0
    assert run.report["failed"] == len(run.report["tests"]) > 10
    messages = {failure["message"] for failure in run.report["failures"]}
    assert "it did not run: the processes for it ended too early" in messages


def test_a_run_of_one_process_that_ends_says_so(tmp_path: Path) -> None:
    run = run_suite(tmp_path, *LEVEL_0, "-p", "killer", **killing(tmp_path, HEADER))
    assert run.code == 9
    assert "PYTHON: FAILED: SIGKILL ended the run, without a report" in run.output


def test_what_was_left_out_is_a_problem(tmp_path: Path) -> None:
    known = tmp_path / "known.txt"
    test = "test_level0_discovery.py::test_a_wrong_target_is_answered_with_the_right_ones[{}:NOSUCHRENDERER]"
    known.write_text(f"{test}  # is silent\n")
    run = run_suite(tmp_path, *LEVEL_0, "--expected-failures", str(known), "-x")
    assert run.code == 1
    (problem,) = run.report["problems"]
    assert re.fullmatch(r"\d+ of \d+ tests did not run, test_level0\S+ first", problem)
    run = run_suite(tmp_path, *LEVEL_0, "--collect-only")
    assert run.code == 0, run.output
    assert run.report["problems"] == []


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    tests = {"b::x": Planned(2, True, ("QUEUES",), "add", "int8"), "a::y": Planned(0, False)}
    plan = Plan(tests, ["something"])
    write_plan(plan, tmp_path / "plan.json")
    read = read_plan(tmp_path / "plan.json")
    assert read == plan
    assert list(read.tests) == list(tests)


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_number_of_jobs_invalid(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main(["--device", "CPU", f"--jobs={text}"])
    assert "expected a number from 1 on, or auto" in capsys.readouterr().err


def test_several_jobs_without_xdist_invalid(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(runner, "find_spec", nothing)
    assert runner.number_of_jobs("1") == "1"
    with pytest.raises(SystemExit):
        runner.main(["--device", "CPU", "-n", "2"])
    assert "pip install pytest-xdist" in capsys.readouterr().err
