from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tg_core.config import CACHE, Context
from tg_core.viz.run_script import INTERRUPTED, Outcome, run_script

COMPUTE = "from tg_core import Tensor\nTensor([1.0, 2.0]).sum().tolist()\n"


def run(folder: Path, text: str, *arguments: str) -> Outcome:
    script = folder / "program.py"
    script.write_text(text, encoding="utf-8")
    with Context(DEV="PYTHON"):
        return run_script(script, arguments)


def test_the_program_sees_its_own_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 7\n", encoding="utf-8")
    before = list(sys.argv), list(sys.path)
    text = "import sys, beside\nprint(__name__, sys.argv[1:], beside.VALUE)\n"
    assert run(tmp_path, text, "-x", "y").code == 0
    assert capsys.readouterr().out == "__main__ ['-x', 'y'] 7\n"
    assert (sys.argv, sys.path) == before
    del sys.modules["beside"]


def test_the_same_program_is_seen_again(tmp_path: Path) -> None:
    with Context(CACHE=1):
        first = run(tmp_path, COMPUTE)
        second = run(tmp_path, COMPUTE)
        assert CACHE.value == 1
    names = [stage.name for stage in first.recorder.stages]
    assert "linearize" in names
    assert [stage.name for stage in second.recorder.stages] == names


def test_an_error_keeps_what_was_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path, f"{COMPUTE}def f():\n    raise ValueError('planned')\nf()\n")
    assert (outcome.code, outcome.problem) == (1, "ValueError: planned")
    assert outcome.recorder.stages
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback")
    assert "in f\n" in printed
    assert "runpy" not in printed and "run_script" not in printed


def test_a_program_that_does_not_compile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path, "def (\n")
    assert (outcome.code, outcome.problem) == (1, "SyntaxError: invalid syntax")
    assert "runpy" not in capsys.readouterr().err


def test_an_interrupted_program_keeps_what_was_recorded(tmp_path: Path) -> None:
    outcome = run(tmp_path, f"{COMPUTE}raise KeyboardInterrupt\n")
    assert (outcome.code, outcome.problem) == (INTERRUPTED, "interrupted")
    assert outcome.recorder.stages


@pytest.mark.parametrize(
    ("end", "code", "problem"),
    [
        ("", 0, ""),
        ("0", 0, ""),
        ("3", 3, "exit code 3"),
        ("'no data'", 1, "no data"),
    ],
)
def test_exit_codes_pass_through(tmp_path: Path, end: str, code: int, problem: str) -> None:
    outcome = run(tmp_path, f"import sys\nsys.exit({end})\n")
    assert (outcome.code, outcome.problem) == (code, problem)


def test_recording_ends_with_the_program(tmp_path: Path) -> None:
    import tg_core.uop.record as record

    run(tmp_path, "raise SystemExit(1)\n")
    assert record.recorder() is None


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.py: no such file"):
        run_script(tmp_path / "none.py")
