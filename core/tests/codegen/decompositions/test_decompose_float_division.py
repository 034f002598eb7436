"""Remainders and whole quotients of floats, exact for operands of every magnitude, against Python's
and numpy's.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from codegen_kernels import GRID, LEAN_GRID, SIMD, DescribedTarget, apply

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp

TARGETS = [
    pytest.param(SIMD, dtypes.float32, np.float32, id="fused-float32"),
    pytest.param(SIMD, dtypes.float64, np.float64, id="fused-float64"),
    pytest.param(GRID, dtypes.float32, np.float32, id="plain-float32"),
    pytest.param(GRID, dtypes.float64, np.float64, id="plain-float64"),
    pytest.param(LEAN_GRID, dtypes.float32, np.float32, id="lean-float32"),
]


def pairs(kind: type, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return dividends and divisors of all magnitudes, near multiples, and special values."""
    draw = np.random.default_rng(5)
    width = np.dtype(kind).itemsize
    unsigned = np.dtype(f"u{width}")
    bits = draw.integers(0, 1 << (8 * width), (2, count), dtype=np.uint64).astype(unsigned)
    anything = bits.view(kind)
    usual = draw.normal(0, 50, (2, count)).astype(kind)
    divisor = draw.uniform(0.01, 9, count).astype(kind)
    with np.errstate(all="ignore"):
        multiples = (divisor * draw.integers(-5000, 5000, count)).astype(kind)
    info = np.finfo(kind)
    special = [0.0, -0.0, 1.0, -3.0, 0.1, math.inf, -math.inf, math.nan, info.max, info.tiny]
    special += [info.smallest_subnormal, -7 * info.smallest_subnormal, 1 - info.eps / 2]
    grid = np.meshgrid(np.array(special, kind), np.array(special, kind))
    a = np.concatenate(
        [anything[0], usual[0], multiples, np.nextafter(multiples, kind(0)), grid[0].ravel()]
    )
    b = np.concatenate([anything[1], usual[1], divisor, divisor, grid[1].ravel()])
    return a, b


def binary(
    op: Ops, target: DescribedTarget, dtype: DType, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    def function(x: UOp, y: UOp) -> UOp:
        return UOp(op, (x, y))

    return apply(function, target, dtype, (a, dtype), (b, dtype))


def assert_same_bits(got: np.ndarray, want: np.ndarray, *operands: np.ndarray) -> None:
    equal = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
    wrong = np.flatnonzero(~equal)[:3]
    assert not len(wrong), [(*(float(x[i]) for x in operands), got[i], want[i]) for i in wrong]


@pytest.mark.parametrize(("target", "dtype", "kind"), TARGETS)
def test_truncated_remainder_is_exact(target: DescribedTarget, dtype: DType, kind: type) -> None:
    a, b = pairs(kind, 3000 if target.has_global else 100)
    with np.errstate(all="ignore"):
        want = np.fmod(a, b)
    assert_same_bits(binary(Ops.CMOD, target, dtype, a, b), want, a, b)


@pytest.mark.parametrize(("target", "dtype", "kind"), TARGETS)
def test_floored_remainder_is_that_of_numpy(
    target: DescribedTarget, dtype: DType, kind: type
) -> None:
    a, b = pairs(kind, 3000 if target.has_global else 100)
    with np.errstate(all="ignore"):
        want = np.mod(a, b)
    assert_same_bits(binary(Ops.FLOORMOD, target, dtype, a, b), want, a, b)


@pytest.mark.parametrize(("target", "dtype", "kind"), TARGETS)
def test_whole_quotient_is_that_of_numpy(target: DescribedTarget, dtype: DType, kind: type) -> None:
    a, b = pairs(kind, 3000 if target.has_global else 100)
    with np.errstate(all="ignore"):
        want = np.floor_divide(a, b)
    assert_same_bits(binary(Ops.FLOORDIV, target, dtype, a, b), want, a, b)


def test_constant_powers_of_two() -> None:
    a = np.array([7.5, -7.5, -4.0, 0.0, -0.0, 1e-45, 3e38, math.inf, math.nan], np.float32)
    for divisor in (1.0, 2.0, -8.0, 2.0**99, 0.5, 2.0**-140):

        def function(x: UOp, divisor: float = divisor) -> UOp:
            return UOp(Ops.CMOD, (x, UOp.const(divisor, dtypes.float32)))

        got = apply(function, SIMD, dtypes.float32, (a, dtypes.float32))
        with np.errstate(all="ignore"):
            assert_same_bits(got, np.fmod(a, np.float32(divisor)), a)


@pytest.mark.parametrize("op", [Ops.CMOD, Ops.FLOORMOD, Ops.FLOORDIV])
def test_halves_are_rounded_once(op: Ops) -> None:
    a = np.linspace(-60000, 60000, 999).astype(np.float16)
    b = np.linspace(-3, 5, 999).astype(np.float16)
    name = {Ops.CMOD: "fmod", Ops.FLOORMOD: "mod", Ops.FLOORDIV: "floor_divide"}[op]
    with np.errstate(over="ignore"):
        want = getattr(np, name)(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    got = binary(op, GRID, dtypes.float16, a, b)
    np.testing.assert_array_equal(got, want)
