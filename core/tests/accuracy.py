"""Errors of elementary functions in units in the last place, against a wider precision.

The references take arrays of float64 or of extended precision, and avoid cancellation themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tg_core import Tensor, dtypes
from tg_core.support import floats

__all__ = ["COMPOSED", "FUNCTIONS", "arguments", "largest_error", "narrow_error", "ulps"]

Function = Callable[..., np.ndarray]


def _by_value(function: Callable[[float], float]) -> Function:
    def apply(x: np.ndarray) -> np.ndarray:
        return np.array([function(v) for v in x.astype(np.float64).tolist()])

    return apply


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _logsigmoid(x: np.ndarray) -> np.ndarray:
    return -_softplus(-x)


FUNCTIONS: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": _by_value(math.erf), "sigmoid": _sigmoid, "softplus": _softplus,
    "logsigmoid": _logsigmoid, "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip
"""The elementary functions by name."""


def _mish(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))
    rising = (1 + 2 * decay) / (1 + 2 * decay + 2 * decay * decay)
    falling = (decay * decay + 2 * decay) / (decay * decay + 2 * decay + 2)
    return x * np.where(x > 0, rising, falling)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def _gelu_by_erf(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * _by_value(math.erfc)(-x * math.sqrt(0.5))


def _selu(x: np.ndarray) -> np.ndarray:
    return 1.0507 * np.where(x > 0, x, 1.67326 * np.expm1(np.minimum(x, 0)))


COMPOSED: dict[str, Function] = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": _selu,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * _sigmoid(x),
    "mish": _mish,
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x),
    "gelu": _gelu,
    "gelu('none')": _gelu_by_erf,
}
"""Activations that are products of roundings, by name."""


def arguments(count: int, seed: int = 0, kind: Any = np.float32) -> np.ndarray:
    """Return floats: any bits, every exponent, usual sizes, near 1 and -1, near 0, next to the
    multiples of pi/2, and special ones; about four times `count`.
    """
    draw, info = np.random.default_rng(seed), np.finfo(kind)
    unsigned = np.uint32 if kind is np.float32 else np.uint64
    bits = draw.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True).view(kind)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    each = np.ldexp(draw.uniform(1, 2, (max(count // 2000, 1), len(exponents))), exponents)
    turns = (draw.integers(1, 20_000, count // 10) * (math.pi / 2)).astype(kind)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, info.max, -info.max]
    small = [info.smallest_subnormal, -info.smallest_subnormal, info.tiny, -info.tiny]
    parts = [
        bits,
        each.ravel() * draw.choice([-1.0, 1.0], each.size),
        draw.uniform(-100, 100, count // 2),
        draw.uniform(-10, 10, count // 2),
        draw.uniform(-2, 2, count // 2),
        1 + draw.normal(0, 1e-2, count // 4),
        -1 + draw.normal(0, 1e-2, count // 4),
        1 + draw.normal(0, 1e-5, count // 8),
        draw.normal(0, 1e-3, count // 4),
        turns,
        np.nextafter(turns, kind(0)),
        -np.nextafter(turns, kind(math.inf)),
        special,
        small,
    ]
    return np.concatenate([np.asarray(part).astype(kind) for part in parts])


def _operands(name: str, x: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return the arguments of a function of one or two operands."""
    if name not in ("pow", "atan2"):
        return [x]
    other = np.random.default_rng(seed + 1).permutation(x)
    return [x, other.clip(-40, 40) if name == "pow" else other]


def _apply(name: str, operands: list[Tensor]) -> Tensor:
    method, _, option = name.partition("(")
    options = [option[1:-2]] if option else []
    result: Tensor = getattr(operands[0], method)(*operands[1:], *options)
    return result


def largest_error(
    name: str,
    count: int,
    seed: int = 0,
    kind: Any = np.float32,
    device: str | None = None,
    lowest: float = -math.inf,
    more: Sequence[float] = (),
) -> tuple[float, float]:
    """Return the largest error of a function, and where it is.

    Args:
        name: one of `FUNCTIONS` or `COMPOSED`.
        count: a quarter of the number of arguments.
        seed: of the arguments.
        kind: float32, judged by float64, or float64, judged by extended precision.
        device: where it is computed.
        lowest: arguments below are left out.
        more: arguments to add.
    """
    x = np.concatenate([arguments(count, seed, kind), np.asarray(more, kind)])
    x = x[~(x < lowest)]
    wide: Any = np.float64
    if kind is np.float64:
        wide = np.longdouble
        # extended precision reduces arguments by a pi that is hardly longer
        x = x[np.abs(x) < 30] if name in ("sin", "cos", "tan") else x
    operands = _operands(name, x, seed)
    reference = FUNCTIONS.get(name) or COMPOSED[name]
    with np.errstate(all="ignore"):
        want = reference(*(values.astype(wide) for values in operands))
        got = _apply(name, [Tensor(values, device=device) for values in operands]).numpy()
        errors = ulps(got, want)
    if kind is np.float64 and name in ("sin", "cos", "tan"):
        errors = np.where(np.abs(want) < 2.0**-8, 0, errors)
    worst = int(errors.argmax())
    return float(errors[worst]), float(x[worst])


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Return by how many units in the last place results are off.

    Args:
        got: float32 or float64.
        want: the same in a wider precision.
    """
    near = want.astype(got.dtype)
    finite = np.isfinite(near)
    step = np.spacing(np.abs(np.where(finite, near, got.dtype.type(1)))).astype(want.dtype)
    errors = (np.abs(got.astype(want.dtype) - want) / step).astype(np.float64)
    same = np.where(finite, False, (got == near) | (np.isnan(got) & np.isnan(near)))
    return np.where(same, 0.0, np.where(finite & np.isfinite(got), errors, math.inf))


def narrow_error(name: str, dtype: str, device: str | None = None) -> tuple[float, float]:
    """Return the largest error of a function over all codes of a 16-bit float, in units in its last
    place, and where it is.

    Args:
        name: one of `FUNCTIONS` or `COMPOSED`.
        dtype: `float16` or `bfloat16`.
        device: where it is computed.
    """
    codes = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    digits, least = (10, -14) if dtype == "float16" else (7, -126)

    def values(of: np.ndarray) -> np.ndarray:
        wide = of.view(np.float16) if dtype == "float16" else floats.decode(of, dtype)
        with np.errstate(invalid="ignore"):
            # signalling NaNs
            return wide.astype(np.float64)

    def rounded(wide: np.ndarray) -> np.ndarray:
        narrow = wide.astype(np.float16) if dtype == "float16" else floats.round_narrow(wide, dtype)
        return narrow.astype(np.float64)

    operands = _operands(name, codes, 0) if name == "atan2" else [codes]
    if name == "pow":
        operands.append(np.random.default_rng(0).permutation(codes))
    reference = FUNCTIONS.get(name) or COMPOSED[name]
    with np.errstate(all="ignore"):
        want = reference(*(values(of) for of in operands))
        tensors = [Tensor(of, device=device).bitcast(getattr(dtypes, dtype)) for of in operands]
        got = _apply(name, tensors).float().numpy().astype(np.float64)
        size = np.where(np.isfinite(want) & (want != 0), np.abs(want), 1.0)
        step = np.exp2(np.maximum(np.floor(np.log2(size)), least) - digits)
        errors = np.abs(got - want) / step
        near = rounded(want)
    # where the result overflows to infinity, or NaN is meant, only that will do
    odd = ~(np.isfinite(near) & np.isfinite(got))
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    errors = np.where(odd, np.where(same, 0.0, math.inf), errors)
    worst = int(errors.argmax())
    return float(errors[worst]), float(values(codes)[worst])
