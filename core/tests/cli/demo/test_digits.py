"""`tg demo digits` from its arguments to its files, on the interpreter."""

from __future__ import annotations

import argparse
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the demo extra is not installed")
pytest.importorskip("matplotlib", reason="the demo extra is not installed")

from rich.console import Console

from tg_core.cli.demo import add_demo_command, digits_training
from tg_core.cli.demo.digits import Options, run_digits
from tg_core.config import Context


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits_training, "BATCH_SIZE", 8)


def run(options: Options) -> tuple[int, str]:
    text = io.StringIO()
    with Context(DEV="PYTHON"):
        code = run_digits(options, Console(file=text, width=100))
    return code, text.getvalue()


def options_for(tmp_path: Path, steps: int = 2) -> Options:
    return Options(
        seed=0,
        device="PYTHON",
        epochs=1,
        steps=steps,
        out=tmp_path / "out",
        json=tmp_path / "result" / "digits.json",
    )


def test_a_run_leaves_table_picture_and_record(tmp_path: Path) -> None:
    options = options_for(tmp_path)
    code, text = run(options)
    assert code == 0
    assert "step 2 of 2: loss" in text
    assert "1437 to train, 360 to test" in text
    assert "digits.png" in "".join(part.strip("│ ") for part in text.splitlines())
    assert (options.out / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert options.json is not None
    record = json.loads(options.json.read_text(encoding="utf-8"))
    right = np.equal(record["labels"], record["predictions"]).mean()
    assert record["seed"] == 0
    assert record["test_accuracy"] == pytest.approx(right)
    assert record["seconds"] > 0
    assert len(record["labels"]) == len(record["predictions"]) == 360
    # Ten classes that the network does not know yet: the loss starts near log(10).
    assert record["losses"][0] == pytest.approx(np.log(10), rel=0.1)
    assert len(record["losses"]) == 2


def test_a_terminal_shows_the_whole_path(tmp_path: Path) -> None:
    text = io.StringIO()
    options = options_for(tmp_path, steps=1)
    with Context(DEV="PYTHON"):
        run_digits(options, Console(file=text, width=40, force_terminal=True))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.getvalue())
    # the path may be cut anywhere, between cells of the table
    drawn = "".join(re.sub("[│ ]", "", line) for line in plain.splitlines())
    assert "┌" in drawn
    assert "digits.png" in drawn


def test_interrupting_ends_with_one_line_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(
        digits: object, steps: int, seed: int, on_step: Callable[[int, float], None]
    ) -> None:
        on_step(1, 2.3)
        raise KeyboardInterrupt

    monkeypatch.setattr(digits_training, "train", interrupted)
    code, text = run(options_for(tmp_path, steps=5))
    assert code == 130
    assert text == "interrupted after step 1, nothing was written\n"
    assert list(tmp_path.iterdir()) == []


def parse(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_demo_command(parser.add_subparsers())
    return parser.parse_args(["demo", "digits", *arguments])


def test_arguments_have_the_documented_defaults() -> None:
    found = parse()
    assert (found.seed, found.device, found.epochs, found.steps) == (0, None, 20, None)
    assert (found.out, found.json) == (Path("tg-digits"), None)


@pytest.mark.parametrize(
    "arguments",
    [("--seed", "-1"), ("--epochs", "0"), ("--steps", "x"), ("--steps", "1", "--epochs", "1")],
)
def test_arguments_out_of_range_are_refused_invalid(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(*arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
