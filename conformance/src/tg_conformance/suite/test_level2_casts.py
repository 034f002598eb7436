"""Level 2: conversions between every two dtypes, and the same bits read as another dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tg_conformance.bench import repeated, upload
from tg_conformance.checking import check_exact, check_form
from tg_conformance.oracles.integers import wrap
from tg_conformance.oracles.values import (
    DTYPES,
    FLOATS,
    NARROW,
    edge_values,
    encode_cells,
    values_of,
)

if TYPE_CHECKING:
    from tg_core import Tensor

pytestmark = [pytest.mark.tg_level(2), pytest.mark.tg_needs("PROGRAMS")]

Array = np.ndarray[Any, Any]
CORE_DTYPES = ("bool", "int32", "uint8", "int64", "float32")


def cast_cases() -> list[Any]:
    """Return every pair of dtypes; those of the core are mandatory."""
    found = []
    for source in DTYPES:
        for dtype in DTYPES:
            core = source in CORE_DTYPES and dtype in CORE_DTYPES
            marks = [pytest.mark.tg_core] if core else []
            found.append(pytest.param(f"from {source}", source, dtype, marks=marks,
                                      id=f"{source}-{dtype}"))  # fmt: skip
    return found


def sources(dtype: str) -> Array:
    """Return cells to convert: edge values, and floats around whole numbers and half steps."""
    cells = edge_values(dtype, 64)
    if dtype not in FLOATS:
        return cells
    near = [0.49, 0.5, 0.51, 1.5, 2.5, 127.5, 254.75, 255.0, 255.5, 256.0, -0.75, -1.0, -128.0]
    near += [2.0**24 + 1, 2.0**31 - 1, 2049.0, 2051.0, 240.0, 464.0, 61440.0, 65519.0, 65520.0]
    return np.concatenate([cells, encode_cells(near, dtype)])


def converted(cells: Array, source: str, target: str) -> tuple[Array, Array]:
    """Return the cells of a conversion, and which of them are defined.

    Floats go to integers by truncation; what does not fit is not defined. NaN is true.
    """
    values = values_of(cells, source)
    fine = np.ones(len(cells), bool)
    if target == "bool":
        return values != 0, fine
    if target in FLOATS:
        return _to_float(values, source, target), fine
    if source in FLOATS:
        info = np.iinfo(target)
        found = [math.trunc(v) if math.isfinite(v) else 0 for v in values.tolist()]
        inside = [info.min <= n <= info.max for n in found]
        fine = np.isfinite(values) & np.array(inside)
    else:
        found = [int(v) for v in values]
    return np.array([wrap(n, target) for n in found], target), fine


def _to_float(values: Array, source: str, target: str) -> Array:
    if source in ("int64", "uint64") and target in (*NARROW, "float16", "float32"):
        # 64 bits do not fit double precision: round to odd first, so that rounding again is right
        return encode_cells(np.array([_odd_double(int(v)) for v in values]), target)
    return encode_cells(values, target)


def _odd_double(value: int) -> float:
    """Return an integer in double precision with the last bit set where digits were lost."""
    size = abs(value)
    lost = max(size.bit_length() - 53, 0)
    kept = size >> lost
    if lost and size & ((1 << lost) - 1):
        kept |= 1
    return math.copysign(math.ldexp(kept, lost), value)


@pytest.mark.parametrize(("operation", "source", "dtype"), cast_cases())
def test_casts(tg_device: str, operation: str, source: str, dtype: str) -> None:
    """A conversion is exact where the target holds the value, and rounds to nearest even."""
    cells = sources(source)
    what = f"cast {operation} to {dtype} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, cells, source).cast(dtype))
    check_form(what, result, dtype, cells.shape)
    wanted, fine = converted(cells, source, dtype)
    values = values_of(cells, source)
    check_exact(what, got[fine], wanted[fine], dtype, values[fine])


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_bitcasts(tg_device: str, dtype: str) -> None:
    """The same bits as another dtype of the size, and back."""
    cells = edge_values(dtype, 64)
    unsigned = f"uint{cells.itemsize * 8}"
    what = f"bitcast of {dtype} to {unsigned} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, cells, dtype).bitcast(unsigned))
    check_form(what, result, unsigned, cells.shape)
    check_exact(what, got, cells.view(unsigned), unsigned, cells)

    def back() -> Tensor:
        flipped = upload(tg_device, cells.view(unsigned), unsigned) ^ 0
        return flipped.bitcast(dtype)

    what = f"bitcast of {unsigned} to {dtype} on {tg_device}"
    result, got = repeated(what, back)
    check_form(what, result, dtype, cells.shape)
    check_exact(what, got, cells, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "fp8e4m3", "fp8e5m2"])
def test_narrowing_rounds_once(tg_device: str, dtype: str) -> None:
    """Around the midpoints of neighbours, where rounding twice goes wrong."""
    from tg_conformance.oracles.formats import FORMATS

    form = FORMATS[dtype]
    finite = form.table[: 1 << (form.bits - 1)]
    finite = finite[np.isfinite(finite)][:: 7 if form.bits == 16 else 1]
    middle = (finite[:-1] + finite[1:]) / 2
    values = np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)])
    values = np.concatenate([values, -values])
    what = f"rounding of float64 to {dtype} on {tg_device}"
    result, got = repeated(what, lambda: upload(tg_device, values, "float64").cast(dtype))
    check_form(what, result, dtype, values.shape)
    check_exact(what, got, encode_cells(values, dtype), dtype, values)
