"""The figures of `docs/numerics.md` hold."""

from __future__ import annotations

import numpy as np
import pytest
from accuracy import COMPOSED, FUNCTIONS, largest_error, narrow_error
from accuracy_table import USUAL, read_figures

FIGURES = read_figures()


def test_every_function_has_a_figure_and_elementary_ones_are_within_2_ulp() -> None:
    assert set(FIGURES) == {*FUNCTIONS, *COMPOSED}
    assert all(FIGURES[name][0] <= 2 for name in FUNCTIONS)


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_within_the_figures(name: str, device: str) -> None:
    error, place = largest_error(name, 10_000 if device == "CPU" else 4_000, device=device)
    assert error <= FIGURES[name][0], f"{name}({place}) is off by {error} ulp"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64_is_within_the_figures(name: str) -> None:
    error, place = largest_error(name, 4_000, kind=np.float64)
    assert error <= FIGURES[name][1], f"{name}({place}) is off by {error} ulp"


@pytest.mark.parametrize("name", COMPOSED)
def test_activations_are_within_the_figures(name: str) -> None:
    for figure, lowest in zip(FIGURES[name], (USUAL, -np.inf), strict=True):
        error, place = largest_error(name, 10_000, lowest=lowest)
        assert error <= figure, f"{name}({place}) is off by {error} ulp"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *COMPOSED])
def test_halves_are_rounded_once(name: str, dtype: str) -> None:
    error, place = narrow_error(name, dtype)
    assert error <= 0.51, f"{name}({place}) is off by {error} ulp of {dtype}"


HARD = {
    # arguments with the largest errors found, and where functions cancel or overflow
    "sigmoid": [-1.15858, -4.14904, -87.672424, -103.9, 88.8, -0.0],
    "tan": [3.9105067, 0.9675634, 71.473755, 1.5707964, 1.1754944e-38, 2.0**100],
    "sin": [408564.38, -5.5057893, 16367173.0 * 2.0**72, 3.1415927],
    "cos": [-2.634034e19, 0.7985038, 1.5707964],
    "expm1": [1.050965, 1.0497775, -1e-20, 88.7, -17.5],
    "log": [1.2535384, 0.99999994, 1.0000001, 1e-45],
    "log10": [1.3300549, 9098.052, 0.99999994],
    "log1p": [-2.9811382e-08, -0.99999994, 1e-30, 3e38],
    "softplus": [-1.313635, -87.672424, 0.29554, -103.5],
    "logsigmoid": [1.2826118, 2.0227153, 87.55776],
    "atanh": [-0.6128329, 0.99999994, 1e-30],
    "acosh": [2.2602017, 1.0000001, 3e38],
    "asinh": [1.1611476, 0.516359, 1e-30, -3e38],
    "sinh": [-1.9907796, 89.4, -89.4],
    "cosh": [1.7911869, 89.4, -1.0414945],
    "erf": [1.0105317, 1.0046234, -9.468874e-39, 3.9],
}


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
@pytest.mark.parametrize("name", HARD)
def test_hard_arguments(name: str, device: str) -> None:
    error, place = largest_error(name, 0, device=device, more=HARD[name])
    assert error < 2, f"{name}({place}) is off by {error} ulp"
