"""Tangents, and sines where there is no float64, in units of the last place."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from codegen_kernels import GRID, LEAN_GRID, DescribedTarget, apply, ulp_distance

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp

FUSED = dataclasses.replace(GRID, native_ops=GRID.native_ops | {Ops.MULACC})
CASES = [
    pytest.param(FUSED, dtypes.float32, np.float32, id="float32"),
    pytest.param(GRID, dtypes.float32, np.float32, id="float32-unfused"),
    pytest.param(LEAN_GRID, dtypes.float32, np.float32, id="float32-without-float64"),
    pytest.param(FUSED, dtypes.float64, np.float64, id="float64"),
    pytest.param(GRID, dtypes.float64, np.float64, id="float64-unfused"),
]


def run(name: str, target: DescribedTarget, dtype: DType, values: np.ndarray) -> np.ndarray:
    def build(x: UOp) -> UOp:
        result: UOp = getattr(x, name)()
        return result

    return apply(build, target, dtype, (values, dtype))


def arguments(kind: type) -> np.ndarray:
    draw = np.random.default_rng(4)
    # the neighbours of zeros and poles, as far as the reference can tell their remainder
    near = np.arange(-200, 200) * (math.pi / 2)
    bits = draw.integers(0, 2**32, 1000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    everywhere = bits if kind is np.float32 else draw.uniform(-30, 30, 1000)
    return np.concatenate(
        [draw.uniform(-6, 6, 2500).astype(kind), near.astype(kind), everywhere.astype(kind)]
    )


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize(("target", "dtype", "kind"), CASES)
def test_within_one_ulp(name: str, target: DescribedTarget, dtype: DType, kind: type) -> None:
    values = arguments(kind)
    # numpy reduces float64 exactly, extended precision only by an extended pi
    wide = np.float64 if kind is np.float32 else np.longdouble
    values = values if kind is np.float32 else values[np.abs(values) > 1e-3]
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(values.astype(wide))
    distance = ulp_distance(run(name, target, dtype, values), wanted)
    if kind is np.float64:
        # the argument of the reference is reduced with 64 bits of pi
        distance = distance[np.abs(wanted) > 2.0**-8]
    assert distance.max() <= 1.0, values[distance.argmax()]


@pytest.mark.parametrize(("target", "dtype", "kind"), CASES)
def test_tangents_of_special_values(target: DescribedTarget, dtype: DType, kind: type) -> None:
    values = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1e-30, -1e-30], kind)
    got = run("tan", target, dtype, values)
    np.testing.assert_array_equal(got, np.where(np.isfinite(values), values, np.nan))
    assert list(np.signbit(got[:2])) == [False, True]


def test_tangents_next_to_a_pole() -> None:
    # the float64 next to pi/2, and the one closest to any pole (Muller, "Elementary Functions",
    # table 11.1: its cosine)
    values = np.array([math.pi / 2, 6381956970095103.0 * 2.0**797])
    got = run("tan", FUSED, dtypes.float64, values)
    wanted = [1.633123935319537e16, -1 / 4.68716592425462761112e-19]
    np.testing.assert_allclose(got, wanted, rtol=4e-16)
