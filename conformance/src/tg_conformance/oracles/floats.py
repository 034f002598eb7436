"""Float functions in more precision than their results have, with the error each may show.

Functions are evaluated by the C library in extended precision. A *bound* is in units in the last
place of the dtype: for float64, for float32, and for the formats below, in which every step of a
composed function rounds. Bounds of functions that are one op of the IR are those of correct
rounding or of a stated algorithm; the others follow from how the front end composes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["EXACT_BINARY", "FUNCTIONS", "Function"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Function:
    """A function of one argument."""

    exact: Callable[[Array], Array]
    """On extended precision."""
    bounds: tuple[float, float, float]
    """Error allowed in float64, in float32, in 16 bits and less."""
    domain: tuple[float, float] = (-math.inf, math.inf)
    """Where the bound holds."""
    mandatory: bool = False
    """Whether it is one op of the IR."""


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _error_function(x: Array) -> Array:
    return np.array([math.erf(float(v)) for v in x], np.longdouble)


def _round(x: Array) -> Array:
    return np.rint(x)


def _relu(x: Array) -> Array:
    return np.where(np.isnan(x), x, np.maximum(x, 0))


FUNCTIONS: dict[str, Function] = {
    # ops of the IR, and what is made of exact ones
    "sqrt": Function(np.sqrt, (0.5, 0.5, 0.5), mandatory=True),
    "reciprocal": Function(np.reciprocal, (0.5, 0.5, 0.5), mandatory=True),
    "exp2": Function(np.exp2, (1.5, 1, 1), mandatory=True),
    "log2": Function(np.log2, (1.5, 1.5, 1), mandatory=True),
    "sin": Function(np.sin, (2, 1.5, 1), mandatory=True),
    "trunc": Function(np.trunc, (0, 0, 0), mandatory=True),
    "neg": Function(np.negative, (0, 0, 0), mandatory=True),
    "abs": Function(np.abs, (0, 0, 0)),
    "floor": Function(np.floor, (0, 0, 0)),
    "ceil": Function(np.ceil, (0, 0, 0)),
    "round": Function(_round, (0, 0, 0)),
    "sign": Function(np.sign, (0, 0, 0)),
    "relu": Function(_relu, (0, 0, 0)),
    "square": Function(np.square, (0.5, 0.5, 0.5)),
    # composed
    "exp": Function(np.exp, (1.5, 1.5, 1)),
    "log": Function(np.log, (2, 2, 1)),
    "log10": Function(np.log10, (2, 2, 1)),
    "cos": Function(np.cos, (2.5, 2.5, 1)),
    "rsqrt": Function(lambda x: 1 / np.sqrt(x), (1.5, 1.5, 1.5)),
    "tan": Function(np.tan, (5, 5, 3)),
    "log1p": Function(np.log1p, (4, 4, 4), domain=(-0.999, math.inf)),
    "expm1": Function(np.expm1, (8, 8, 8)),
    "sigmoid": Function(_sigmoid, (4, 4, 3)),
    "tanh": Function(np.tanh, (4, 4, 4)),
    "sinh": Function(np.sinh, (8, 8, 8)),
    "cosh": Function(np.cosh, (8, 8, 8)),
    "asin": Function(np.arcsin, (6, 6, 6)),
    "acos": Function(np.arccos, (6, 6, 6)),
    "atan": Function(np.arctan, (6, 6, 6)),
    "asinh": Function(np.arcsinh, (6, 6, 6)),
    "acosh": Function(np.arccosh, (6, 6, 6)),
    "atanh": Function(np.arctanh, (6, 6, 6)),
    "erf": Function(_error_function, (6, 4, 4)),
}
"""By the name of the method of `Tensor`."""


def _maximum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.maximum(a, b))


def _minimum(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.minimum(a, b))


EXACT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": _maximum,
    "minimum": _minimum,
}
"""Ops whose result in double precision, rounded once more, is the correctly rounded one.

Source: S. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995: it is for
these ops when the wide format has at least twice the digits of the narrow one and two more.
"""
