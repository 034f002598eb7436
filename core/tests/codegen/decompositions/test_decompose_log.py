"""Logarithms to the bases e and 10 as the front end writes them, in units of the last place."""

from __future__ import annotations

import math

import numpy as np
import pytest
from codegen_kernels import GRID, LEAN_GRID, DescribedTarget, apply, ulp_distance

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp

CASES = [
    pytest.param(GRID, dtypes.float32, np.float32, id="float32"),
    pytest.param(LEAN_GRID, dtypes.float32, np.float32, id="float32-lean"),
    pytest.param(GRID, dtypes.float64, np.float64, id="float64"),
]


def run(name: str, target: DescribedTarget, dtype: DType, values: np.ndarray) -> np.ndarray:
    def build(x: UOp) -> UOp:
        result: UOp = getattr(x, name)()
        return result

    return apply(build, target, dtype, (values, dtype))


@pytest.mark.parametrize("name", ["log", "log10"])
@pytest.mark.parametrize(("target", "dtype", "kind"), CASES)
def test_within_one_ulp(name: str, target: DescribedTarget, dtype: DType, kind: type) -> None:
    draw, info = np.random.default_rng(5), np.finfo(kind)
    values = np.concatenate(
        [
            draw.uniform(0.4, 2.5, 20000),
            1 + draw.normal(0, 1e-3, 2000),
            np.exp2(draw.uniform(info.minexp - info.nmant, info.maxexp, 10000)),
            [info.smallest_subnormal, info.tiny, info.max, 1.0, 0.0, -0.0, -1.0],
            [math.inf, -math.inf, math.nan],
        ]
    ).astype(kind)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(values.astype(np.longdouble))
    distance = ulp_distance(run(name, target, dtype, values), wanted)
    assert distance.max() < 1, values[distance.argmax()]


def test_the_negative_of_a_logarithm() -> None:
    values = np.linspace(0.1, 10, 500, dtype=np.float32)

    def build(x: UOp) -> UOp:
        return x.log2() * -math.log(2)

    got = apply(build, GRID, dtypes.float32, (values, dtypes.float32))
    assert ulp_distance(got, -np.log(values.astype(np.longdouble))).max() < 1


def test_other_factors_stay_products() -> None:
    values = np.linspace(0.1, 10, 500, dtype=np.float32)

    def build(x: UOp) -> UOp:
        return UOp(Ops.LOG2, (x,)) * 0.7

    got = apply(build, GRID, dtypes.float32, (values, dtypes.float32))
    wanted = np.log2(values.astype(np.float64)).astype(np.float32) * np.float32(0.7)
    np.testing.assert_allclose(got, wanted, rtol=3e-7)
