"""Narrow floats stored as integers and computed in float32, against the tables of
`support.floats` and numpy's halves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from codegen_kernels import LEAN_GRID, SIMD, apply, elementwise, run

from tg_core.dtype import DType, dtypes
from tg_core.support import floats
from tg_core.uop.ops import Ops, UOp

FORMATS = [dtypes.float16, dtypes.bfloat16, *dtypes.fp8s]
RNG = np.random.default_rng(5)


def cast_to(dtype: DType) -> Any:
    def function(x: UOp) -> UOp:
        return UOp(Ops.CAST, (x,), dtype)

    return function


def encode(values: np.ndarray, dtype: DType) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return (
            values.astype(np.float16).view(np.uint16)
            if dtype is dtypes.float16
            else floats.encode(values, dtype.name)
        )


def decode(codes: np.ndarray, dtype: DType) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        # signalling NaNs
        return (
            codes.view(np.float16).astype(np.float32)
            if dtype is dtypes.float16
            else floats.decode(codes, dtype.name).astype(np.float32)
        )


def all_codes(dtype: DType) -> np.ndarray:
    kind = np.uint8 if dtype.bits == 8 else np.uint16
    codes = np.arange(1 << dtype.bits, dtype=kind)
    return codes if dtype.bits == 8 else codes[::7].copy()


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_every_code_decodes_exactly(dtype: DType) -> None:
    codes = all_codes(dtype)
    got = apply(cast_to(dtypes.float32), LEAN_GRID, dtypes.float32, (codes, dtype))
    np.testing.assert_array_equal(got, decode(codes, dtype))


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_encoding_rounds_to_nearest_even(dtype: DType) -> None:
    with np.errstate(invalid="ignore"):
        # signalling NaNs among the codes
        known = decode(all_codes(dtype), dtype).astype(np.float64)
    values = np.concatenate([known, RNG.normal(0, 1, 500), np.exp2(RNG.uniform(-30, 20, 1500))])
    values = np.concatenate(
        [values, [np.inf, -np.inf, np.nan, 0.0, -0.0, 65519.0, 65520.0, 448.0, 465.0, 1e30]]
    )
    values = values.astype(np.float32)
    finite = np.sort(values[np.isfinite(values)])
    # midpoints of neighbours are where ties happen
    values = np.concatenate([values, (finite[1:] / 2 + finite[:-1] / 2)])
    unsigned = np.uint8 if dtype.bits == 8 else np.uint16
    got = np.zeros(len(values), unsigned)
    run(
        elementwise(cast_to(dtype), len(values), dtypes.float32, output=dtype),
        LEAN_GRID,
        got,
        values,
    )
    want = encode(values, dtype)
    np.testing.assert_array_equal(decode(got, dtype), decode(want, dtype))
    number = ~np.isnan(values)
    np.testing.assert_array_equal(got[number], want[number])


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_float64_is_rounded_once(dtype: DType) -> None:
    with np.errstate(invalid="ignore"):
        # signalling NaNs among the codes
        known = decode(all_codes(dtype), dtype).astype(np.float64)
    finite = np.unique(known[np.isfinite(known)])
    middle = (finite[1:] + finite[:-1]) / 2
    # nearer to the midpoints than float32 can tell
    near = [np.nextafter(middle, -np.inf), middle, np.nextafter(middle, np.inf)]
    edges = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300])
    values = np.concatenate([known, *near, edges])
    got = np.zeros(len(values), np.uint8 if dtype.bits == 8 else np.uint16)
    run(
        elementwise(cast_to(dtype), len(values), dtypes.float64, output=dtype),
        replace(LEAN_GRID, native_dtypes=LEAN_GRID.native_dtypes | {dtypes.float64}),
        got,
        values,
    )
    want, number = encode(values, dtype), ~np.isnan(values)
    np.testing.assert_array_equal(got[number], want[number])
    np.testing.assert_array_equal(decode(got, dtype), decode(want, dtype))


def test_arithmetic_rounds_after_each_operation() -> None:
    x = RNG.normal(0, 3, 400).astype(np.float16)
    y = RNG.normal(0, 3, 400).astype(np.float16)

    def function(a: UOp, b: UOp) -> UOp:
        return (a + b) * a

    got = np.zeros(400, np.uint16)
    sink = elementwise(function, 400, dtypes.float16, dtypes.float16, output=dtypes.float16)
    run(sink, LEAN_GRID, got, x.view(np.uint16), y.view(np.uint16))
    assert np.array_equal(got.view(np.float16), (x + y) * x)


def test_bfloat16_is_stored_natively_and_computed_in_float32() -> None:
    values = RNG.normal(0, 3, 100).astype(np.float32)
    codes = floats.encode(values, "bfloat16")

    def function(a: UOp) -> UOp:
        return a * a

    got = apply(function, SIMD, dtypes.bfloat16, (codes, dtypes.bfloat16))
    exact = decode(codes, dtypes.bfloat16)
    assert np.array_equal(got, floats.encode(exact * exact, "bfloat16"))


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("target", [LEAN_GRID, SIMD], ids=["lean", "simd"])
def test_a_selection_moves_codes(dtype: DType, target: Any) -> None:
    codes = all_codes(dtype)
    others, chosen = codes[::-1].copy(), RNG.integers(0, 2, len(codes)).astype(np.uint8)

    def function(a: UOp, b: UOp, c: UOp) -> UOp:
        return UOp(Ops.WHERE, (UOp(Ops.CMPNE, (c, UOp.const(0, c.dtype))), a, b))

    got = np.zeros(len(codes), codes.dtype)
    sink = elementwise(function, len(codes), dtype, dtype, dtypes.uint8, output=dtype)
    run(sink, target, got, codes, others, chosen)
    np.testing.assert_array_equal(got, np.where(chosen, codes, others))


def test_a_maximum_keeps_infinities() -> None:
    codes = np.array([0x7C, 0xFC, 0xFC, 0x3C], np.uint8)
    others = np.array([0x3C, 0xFC, 0x3C, 0x7C], np.uint8)

    def function(a: UOp, b: UOp) -> UOp:
        return UOp(Ops.MAX, (a, b))

    got = np.zeros(4, np.uint8)
    dtype = dtypes.fp8e5m2
    run(elementwise(function, 4, dtype, dtype, output=dtype), LEAN_GRID, got, codes, others)
    assert list(got) == [0x7C, 0xFC, 0x3C, 0x7C]
