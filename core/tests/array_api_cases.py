"""Arguments for the functions of the array API standard, and how two results compare.

A case names a function and its arguments, with numpy arrays for arrays and `D(name)` for data
types; both libraries get them as their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Draw = Callable[..., Any]

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
NUMBERS = INTS + FLOATS
ALL = BOOL + NUMBERS

SHAPES = ((), (0,), (1,), (4,), (2, 3), (0, 3), (3, 1), (2, 1, 3))
"""Few, as every shape is a program to compile."""
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, math.inf, -math.inf, math.nan)


@dataclass(frozen=True)
class D:
    """A data type by its name."""

    name: str


@dataclass
class Case:
    """A call."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = [repr(entry) for entry in self.args]
        shown += [f"{name}={entry!r}" for name, entry in self.kwargs.items()]
        return f"{self.name}({', '.join(shown)})"


def element(draw: Draw, dtype: str, special: bool, low: float, high: float) -> Any:
    if dtype == "bool":
        return draw(st.booleans())
    if dtype in INTS:
        info = np.iinfo(dtype)
        edges = st.sampled_from((int(info.min), int(info.max), 0, 1))
        least, most = max(int(info.min), int(low)), min(int(info.max), int(high))
        return draw(
            st.one_of(st.integers(least, most), edges) if special else st.integers(least, most)
        )
    usual = st.floats(low, high, width=32, allow_subnormal=False)
    return draw(st.one_of(st.sampled_from(SPECIAL), usual) if special else usual)


def array(
    draw: Draw,
    dtype: str,
    shape: tuple[int, ...],
    special: bool = True,
    low: float = -8,
    high: float = 8,
) -> np.ndarray:
    values = [element(draw, dtype, special, low, high) for _ in range(math.prod(shape))]
    return np.array(values, dtype=dtype).reshape(shape)


def shape_of(draw: Draw, least: int = 0, most: int = 3, empty: bool = True) -> tuple[int, ...]:
    fitting = [s for s in SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
    return tuple(draw(st.sampled_from(fitting)))


def partner_shape(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts with `shape`."""
    choice = draw(st.integers(0, 3))
    if choice == 0:
        return ()
    if choice == 1 and shape:
        return (1, *shape[1:])
    return shape


def partner_dtype(draw: Draw, dtype: str, dtypes: tuple[str, ...]) -> str:
    """Return a dtype that promotion leads to from `dtype` within its kind."""
    if dtype == "uint64":
        same: tuple[str, ...] = UNSIGNED
    elif dtype in INTS:
        same = tuple(name for name in INTS if name != "uint64" or dtype in UNSIGNED)
    else:
        same = FLOATS if dtype in FLOATS else BOOL
    return str(draw(st.sampled_from([name for name in same if name in dtypes])))


def axis_of(draw: Draw, ndim: int) -> int:
    return int(draw(st.integers(-ndim, ndim - 1)))


def axes_of(draw: Draw, ndim: int) -> Any:
    """Return None, an axis or several."""
    choice = draw(st.integers(0, 3))
    if choice == 0 or not ndim:
        return None if choice != 1 or ndim else ()
    if choice < 3 or ndim == 1:
        return axis_of(draw, ndim)
    return tuple(draw(st.permutations(range(ndim)))[: draw(st.integers(1, ndim))])


def as_numpy(result: Any) -> np.ndarray:
    """Return the values of an array of either library."""
    inner = getattr(result, "_array", None)
    return np.asarray(inner) if inner is not None else np.asarray(result.numpy())


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the greatest distance in units in the last place of what is expected."""
    if not found.size:
        return 0.0
    with np.errstate(all="ignore"):
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        unit = np.spacing(np.abs(np.where(np.isfinite(expected), expected, 1)))
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64)) / unit
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))))


def scaled_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the greatest difference in units of the precision of the greatest magnitude."""
    if not found.size:
        return 0.0
    with np.errstate(all="ignore"):
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        finite = np.abs(expected[np.isfinite(expected)])
        scale = max(float(finite.max()) if finite.size else 0.0, 1.0) * np.finfo(expected.dtype).eps
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64)) / scale
    return float(np.max(np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))))


@dataclass(frozen=True)
class Exact:
    """Equal values, and equal signs of zeros unless told otherwise."""

    zeros: bool = True

    def differs(self, found: np.ndarray, expected: np.ndarray) -> str | None:
        if not np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"):
            return "values"
        return "signs of zeros" if self.zeros and not _same_zeros(found, expected) else None


@dataclass(frozen=True)
class Ulps:
    """Floats within units in the last place; what is no float must be equal."""

    bound: float
    zeros: bool = True

    def differs(self, found: np.ndarray, expected: np.ndarray) -> str | None:
        if found.dtype.kind != "f":
            return Exact().differs(found, expected)
        distance = ulps(found, expected)
        if distance > self.bound:
            return f"values, by {distance:.3g} ulp"
        return "signs of zeros" if self.zeros and not _same_zeros(found, expected) else None


@dataclass(frozen=True)
class Scaled:
    """Floats within units of the precision of the greatest value; others must be equal."""

    bound: float

    def differs(self, found: np.ndarray, expected: np.ndarray) -> str | None:
        if found.dtype.kind != "f":
            return Exact().differs(found, expected)
        distance = scaled_error(found, expected)
        return f"values, by {distance:.3g} scaled units" if distance > self.bound else None


def _same_zeros(found: np.ndarray, expected: np.ndarray) -> bool:
    if found.dtype.kind != "f":
        return True
    zeros = (found == 0) & (expected == 0)
    return bool(np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros])))
