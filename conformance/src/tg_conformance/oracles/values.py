"""The values tests run on, and how memory holds them.

*Cells* are what is in memory: numpy's own dtype, or the unsigned integers that hold the codes of a
format numpy lacks. *Values* are numbers: integers of their own dtype, floats in double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_conformance.oracles.formats import FORMATS

__all__ = [
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "NARROW",
    "cell_type",
    "edge_values",
    "encode_cells",
    "pairs",
    "values_of",
]

Array = np.ndarray[Any, Any]

NARROW = ("fp8e4m3", "fp8e5m2", "fp8e4m3fnuz", "fp8e5m2fnuz", "bfloat16")
"""Formats that numpy lacks."""

FLOATS = (*NARROW, "float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, *FLOATS)
"""Every dtype that storage can have, by name. Core lowers those a device lacks, so all are due."""

SPECIAL_FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -7.0, 0.1, 1 / 3, 100.0, -255.0, 448.0,
    2.0**-9, 2.0**-14, -(2.0**-24), 2.0**-126, 1e-40, 2.0**15, 65504.0, 3e38, 1e300,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


def cell_type(dtype: str) -> np.dtype[Any]:
    """Return numpy's dtype of the cells."""
    return FORMATS[dtype].code_type if dtype in NARROW else np.dtype(dtype)


def encode_cells(values: Any, dtype: str) -> Array:
    """Return values as memory holds them, rounded to nearest even."""
    if dtype in NARROW:
        return FORMATS[dtype].encode(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(values).astype(cell_type(dtype))


def values_of(cells: Array, dtype: str) -> Array:
    """Return the numbers that cells hold."""
    if dtype in NARROW:
        return FORMATS[dtype].decode(cells)
    # a signalling NaN is quietened, which is reported as an invalid operation
    with np.errstate(invalid="ignore"):
        return cells.astype(np.float64) if dtype in FLOATS else cells


def edge_values(dtype: str, count: int = 40) -> Array:
    """Return cells of `count` values that matter: limits, zeros, neighbours of powers of two, NaN,
    and random ones of every size.
    """
    random = np.random.default_rng(sum(dtype.encode()))
    if dtype == "bool":
        third: Array = np.arange(count) % 3 == 0
        return third
    if dtype in FLOATS:
        rest = count - len(SPECIAL_FLOATS)
        scale = 10.0 ** random.uniform(-3, 3, rest)
        return encode_cells([*SPECIAL_FLOATS, *(random.standard_normal(rest) * scale)], dtype)
    info = np.iinfo(dtype)
    low, high, width = int(info.min), int(info.max), info.bits
    special = [0, 1, 2, 3, 7, width - 1, width, width + 1, high, high - 1, high // 2, low, low + 1]
    special += [-1, -2, -7, -width] if low else [high // 2 + 1, 10, 100, 200]
    drawn = random.integers(low, high, count - len(special), dtype, endpoint=True)
    return np.array([*special, *map(int, drawn)], dtype)


def pairs(first: str, second: str | None = None, count: int = 32) -> tuple[Array, Array]:
    """Return every pair of edge values of two dtypes, as cells."""
    a, b = edge_values(first, count), edge_values(second or first, count)
    return np.repeat(a, count), np.tile(b, count)
