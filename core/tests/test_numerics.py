"""The figures of `docs/numerics.md` hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from accuracy import FUNCTIONS, largest_error

PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"
FIGURES = {
    name: float(figure)
    for name, figure in re.findall(r"`(\w+)` \| ([0-9.]+)", PAGE.read_text(encoding="utf-8"))
}


def test_every_function_has_a_figure() -> None:
    assert set(FIGURES) == set(FUNCTIONS)
    above = {name for name, figure in FIGURES.items() if figure > 2}
    assert above == {"tan", "sigmoid"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_within_the_figures(name: str) -> None:
    error, place = largest_error(name, 10_000)
    assert error <= FIGURES[name], f"{name}({place}) is off by {error} ulp"
