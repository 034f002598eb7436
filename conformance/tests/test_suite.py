"""The suite as its users see it: reports, expected failures, exit codes."""

from __future__ import annotations

import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from report_page import DEVICES, PAGE, ROOT, filled_in, report
from suite_runs import install_planted, run_suite


def test_the_interpreter_is_found(tmp_path: Path) -> None:
    reports = ["--report", str(tmp_path / "a.xml"), "--report", str(tmp_path / "a.html")]
    run = run_suite(tmp_path, "--device", "PYTHON", "--level", "0", *reports)
    assert run.code == 0, run.output
    assert "conformance of PYTHON" in run.output
    assert run.report["level"] == 0
    assert run.report["interface"] is None
    assert run.report["failed"] == run.report["xfailed"] == 0
    assert "PROGRAMS" in run.report["capabilities"]["declared"]
    assert "QUEUES" in run.report["capabilities"]["undeclared"]
    suites = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert int(suites[0].attrib["tests"]) == run.report["passed"] == len(suites[0])
    page = (tmp_path / "a.html").read_text()
    assert "PYTHON, opened directly: level 0 reached" in page


def test_an_unknown_device_fails_and_is_named_invalid(tmp_path: Path) -> None:
    run = run_suite(tmp_path, "--device", "NOPE", "--level", "0")
    assert run.code == 1, run.output
    assert "no plugin in use registers the type" in run.output
    assert run.report["level"] is None


def test_a_required_capability_invalid(tmp_path: Path) -> None:
    options = ["--device", "PYTHON", "--level", "0", "-k", "case", "--require", "programs,queues"]
    run = run_suite(tmp_path, *options)
    assert run.code == 1, run.output
    assert run.report["problems"] == ["QUEUES is required and not declared"]


ONE = "test_level0_discovery.py::test_the_report_header_is_lines_of_text"
CORE = "test_level0_discovery.py::test_the_device_opens_and_says_what_it_is"


@pytest.mark.parametrize(
    ("line", "fault", "code", "message"),
    [
        (f"{ONE}  # prints a number", "header without text", 0, "1 expected failures"),
        (f"{ONE}  # prints a number", "", 1, "[XPASS(strict)] prints a number"),
        (f"{ONE}", "", 4, "no reason given"),
        ("test_level9.py::test_x  # gone", "", 4, "names no test of the suite"),
        (f"{CORE}  # hard", "", 4, "is mandatory and cannot be an expected failure"),
    ],
)
def test_expected_failures_are_exact(
    line: str, fault: str, code: int, message: str, tmp_path: Path
) -> None:
    places = install_planted(tmp_path / "site")
    known = tmp_path / "known.txt"
    known.write_text(f"# a comment\n\n{line}\n")
    options = ["--device", "PLANTED", "--level", "0", "--expected-failures", str(known)]
    run = run_suite(tmp_path, *options, "-k", "header", PYTHONPATH=places, TG_PLANTED=fault)
    assert run.code == code, run.output
    assert message in " ".join(run.output.split())


@pytest.mark.parametrize("option", ["--tg-device", "--tg-interface"])
def test_the_options_are_offered_by_every_pytest(option: str, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getoption(option) is None


@pytest.mark.parametrize("device", DEVICES)
def test_committed_reports_are_of_every_level(device: str) -> None:
    found = report(f"conformance-{device}")
    assert found["device"] == device.upper()
    assert found["level"] == 7
    assert found["failed"] == 0
    assert (ROOT / "docs" / f"conformance-{device}.html").exists()


def test_the_page_has_the_numbers_of_the_reports() -> None:
    assert filled_in(PAGE.read_text()) == PAGE.read_text(), "run conformance/tests/report_page.py"
    assert report("waits")["survivors"] == 0
    assert report("orders")["failed"] == 0


def test_ctrl_c_is_tested_where_a_shell_lets_it_be_ignored(tmp_path: Path) -> None:
    """As in `tg-conformance --device CPU &` of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = run_suite(tmp_path, "--device", "PYTHON", "--level", "6", "-k", "ctrl_c")
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.code == 0, run.output
    assert run.report["passed"] == 1


def test_a_thorough_run_says_how_thorough_it_was(tmp_path: Path) -> None:
    options = ["--device", "REF", "--level", "3", "-k", "random_graphs[3]", "--thorough"]
    run = run_suite(tmp_path, *options, TG_GRAPHS="5", TG_ORDERS="2")
    assert run.code == 0, run.output
    assert run.report["thorough"] == {"graphs": 5, "orders": 2}
    assert run.report["passed"] == 1
