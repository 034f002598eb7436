"""Errors of elementary functions in units in the last place, against a wider precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tg_core import Tensor

__all__ = ["FUNCTIONS", "arguments", "largest_error"]

Function = Callable[[np.ndarray], np.ndarray]


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.tolist()])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


FUNCTIONS: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": _erf,
    "sigmoid": _sigmoid, "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip
"""The functions by name; their arguments are wider than the results that are judged."""


def arguments(count: int, seed: int = 0) -> np.ndarray:
    """Return float32 numbers: any bits, usual sizes, near 1, near 0, and special ones."""
    draw = np.random.default_rng(seed)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 3.4028235e38, 1e-45]
    return np.concatenate(
        [
            draw.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32).view(np.float32),
            draw.uniform(-100, 100, count // 2).astype(np.float32),
            draw.uniform(-2, 2, count // 2).astype(np.float32),
            (1 + draw.normal(0, 1e-2, count // 4)).astype(np.float32),
            draw.normal(0, 1e-3, count // 4).astype(np.float32),
            np.array(special, np.float32),
        ]
    )


def largest_error(name: str, count: int, seed: int = 0) -> tuple[float, float]:
    """Return the largest error of a function, and where it is."""
    x = arguments(count, seed)
    inputs = [x]
    if name in ("pow", "atan2"):
        other = np.random.default_rng(seed + 1).permutation(x)
        inputs.append(other.clip(-40, 40) if name == "pow" else other)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[name](*(values.astype(np.float64) for values in inputs))
        first, *rest = (Tensor(values) for values in inputs)
        got = getattr(first, name)(*rest).numpy()
        errors = ulps(got, want)
    worst = int(errors.argmax())
    return float(errors[worst]), float(x[worst])


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return by how many units in the last place float32 results are off."""
    near = want.astype(np.float32)
    finite = np.isfinite(near)
    step = np.spacing(np.abs(np.where(finite, near, np.float32(1)))).astype(np.float64)
    errors = np.abs(got.astype(np.float64) - want) / step
    same = np.where(finite, False, (got == near) | (np.isnan(got) & np.isnan(near)))
    return np.where(same, 0.0, np.where(finite & np.isfinite(got), errors, math.inf))
