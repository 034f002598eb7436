"""`tg demo embed` from its arguments to what it prints."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tg_core.cli.demo import add_demo_command, embed
from tg_core.cli.demo.embed import EmbedOptions, run_embed

TEXTS = ("a cat", "a kitten", "stocks  fell\nsharply " + "and on " * 20)
VECTORS = np.array([[1, 0], [0.8, 0.6], [-0.6, 0.8]], np.float32)


class FakeEncoder:
    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return VECTORS[: len(sentences)]


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "SentenceEncoder", FakeEncoder)


def printed(colour: bool = False, width: int = 100) -> str:
    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    assert run_embed(EmbedOptions(TEXTS, "CPU"), console) == 0
    return text.getvalue()


def test_the_heat_map_has_a_row_and_a_column_per_sentence() -> None:
    lines = printed().splitlines()
    assert lines[1].split() == ["1", "2", "3"]
    numbers = [[float(w) for w in line.split() if w.count(".") == 1] for line in lines[2:5]]
    np.testing.assert_allclose(numbers, VECTORS @ VECTORS.T, atol=5e-4)
    assert "stocks fell sharply and on" in lines[4]


def test_shades_stand_for_colours_where_there_are_none() -> None:
    text = printed()
    assert "1.000 █" in text
    assert "0.800 █" in text
    assert "\x1b" not in text


def test_a_terminal_shows_colours() -> None:
    red, green, blue = embed.WARMEST
    assert f"48;2;{red};{green};{blue}" in printed(colour=True)


def test_a_narrow_screen_loses_no_number() -> None:
    assert printed(width=20).count("0.800") == 2


def test_the_record_holds_vectors_and_similarities(tmp_path: Path) -> None:
    path = tmp_path / "new" / "embed.json"
    options = EmbedOptions(TEXTS[:2], "CPU", path)
    assert run_embed(options, Console(file=io.StringIO())) == 0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["sentences"] == list(TEXTS[:2])
    np.testing.assert_allclose(record["similarities"], VECTORS[:2] @ VECTORS[:2].T)
    np.testing.assert_allclose(record["embeddings"], VECTORS[:2])


def test_a_sentence_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_demo_command(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(["demo", "embed"])
    assert "SENTENCE" in capsys.readouterr().err
