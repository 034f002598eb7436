"""`tg demo embed`: how similar sentences are, by the published all-MiniLM-L6-v2 model."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tg_core.cli.demo.embed_model import SentenceEncoder

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EmbedOptions", "run_embed"]

COLDEST, WARMEST = (22, 42, 92), (250, 204, 72)
"""Colours, red, green and blue, of a similarity of 0 or less and of 1."""
SHADES = " ░▒▓█"
"""What stands for a similarity, from 0 to 1, where there is no colour."""
LABEL_WIDTH = 48
CELL_WIDTH = 9


@dataclass(frozen=True)
class EmbedOptions:
    """What the command line asked for."""

    sentences: Sequence[str]
    device: str
    json: Path | None = None
    """File of the machine-readable result."""


def run_embed(options: EmbedOptions, console: Console) -> int:
    """Embed the sentences and print a heat map of their cosine similarities.

    Returns:
        The exit code, 0.

    Raises:
        MissingExtra: the weights or the tokenizer are not installed; raised before any work.
    """
    start = time.perf_counter()
    with console.status(f"loading all-MiniLM-L6-v2 on {options.device}"):
        encoder = SentenceEncoder()
        loaded = time.perf_counter()
        vectors = encoder.encode(options.sentences)
    done = time.perf_counter()
    similarities = vectors @ vectors.T
    table = _heat_map(options.sentences, similarities, console)
    # Every column stays readable; a narrow terminal wraps lines rather than losing digits.
    width = max(console.width, LABEL_WIDTH + CELL_WIDTH * len(options.sentences))
    console.print(table, width=width, crop=False)
    console.print(
        f"all-MiniLM-L6-v2 on {options.device}: loaded in {loaded - start:.1f} s,"
        f" {len(options.sentences)} sentence{'s' * (len(options.sentences) != 1)} in"
        f" {done - loaded:.1f} s, compiling included",
        highlight=False,
        soft_wrap=True,
    )
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        record = {
            "device": options.device,
            "sentences": list(options.sentences),
            "embeddings": vectors.tolist(),
            "similarities": similarities.tolist(),
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _heat_map(sentences: Sequence[str], similarities: np.ndarray, console: Console) -> Table:
    """Return a table of one row and one column per sentence, coloured where there are colours."""
    table = Table(title="cosine similarity", title_justify="left", padding=(0, 0), box=None)
    table.add_column("", max_width=LABEL_WIDTH, overflow="ellipsis", no_wrap=True)
    for index in range(len(sentences)):
        table.add_column(f"{index + 1:^{CELL_WIDTH}}", no_wrap=True, min_width=CELL_WIDTH)
    coloured = console.color_system is not None
    for index, (sentence, row) in enumerate(zip(sentences, similarities)):
        label = Text(f"{index + 1:>2} {' '.join(sentence.split())} ")
        table.add_row(label, *(_cell(float(value), coloured) for value in row))
    return table


def _cell(similarity: float, coloured: bool) -> Text:
    share = min(max(similarity, 0.0), 1.0)
    number = f"{similarity:6.3f}"
    if not coloured:
        shade = SHADES[min(int(share * len(SHADES)), len(SHADES) - 1)]
        return Text(f" {number} {shade}")
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(COLDEST, WARMEST))
    ink = "black" if share > 0.5 else "white"
    return Text(f"{number:^{CELL_WIDTH}}", style=f"{ink} on rgb({red},{green},{blue})")
