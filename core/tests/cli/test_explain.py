from __future__ import annotations

from pathlib import Path

import pytest

from tg_core.cli.main import main
from tg_core.config import Context

PROGRAM = """
import sys
from tg_core import Tensor
print("arguments", sys.argv[1:])
Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(axis=1).tolist()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def explain(*arguments: str | Path) -> int:
    with Context(DEV="PYTHON"):
        return main(["explain", *map(str, arguments)])


def test_arguments_of_the_program_follow_two_dashes(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(script, "--lines", "3", "--", "--html", "x") == 0
    assert "arguments ['--html', 'x']" in capsys.readouterr().out


def test_the_page_and_the_listing(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert explain(script, "--html", page) == 0
    printed = capsys.readouterr().out
    assert "schedule 1: 1 result on PYTHON: " in printed
    assert "kernel 1: " in printed
    assert "lower-reduce-to-accumulators: " in printed
    assert printed.endswith(f"wrote {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_one_kernel_with_its_source(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(script, "--kernel", "1") == 0
    printed = capsys.readouterr().out
    assert "schedule 1" not in printed
    assert "\n  source\n" in printed


def test_a_kernel_that_does_not_exist(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(script, "--kernel", "99") == 1
    assert "tg: error: --kernel 99: the program compiled 1 kernel" in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_program(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(f"{PROGRAM}raise KeyboardInterrupt\n", encoding="utf-8")
    page = tmp_path / "page.html"
    assert explain(script, "--html", page) == 130
    assert "the program did not end well: interrupted" in capsys.readouterr().out
    assert page.exists()


def test_a_missing_program_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("none.py") == 1
    assert capsys.readouterr().err == "tg: error: none.py: no such file\n"


@pytest.mark.parametrize("wrong", [["--kernel", "0"], ["--lines", "-1"]])
def test_wrong_numbers_are_refused(script: Path, wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        explain(script, *wrong)
    assert end.value.code == 2


def test_other_commands_take_no_program_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["env", "--", "x"])
    assert end.value.code == 2
    assert "unrecognized arguments: -- x" in capsys.readouterr().err
