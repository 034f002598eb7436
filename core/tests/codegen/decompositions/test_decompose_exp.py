"""Exponentials and cosines as the front end writes them, in units of the last place."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from codegen_kernels import GRID, apply, ulp_distance

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp

FLOATS = [(dtypes.float32, np.float32, 88.72), (dtypes.float64, np.float64, 709.7)]
FUSED = dataclasses.replace(GRID, native_ops=GRID.native_ops | {Ops.MULACC})
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan]


def run(function: str, dtype: DType, values: np.ndarray) -> np.ndarray:
    def build(x: UOp) -> UOp:
        result: UOp = getattr(x, function)()
        return result

    return apply(build, FUSED, dtype, (values, dtype))


@pytest.mark.parametrize(("dtype", "kind", "limit"), FLOATS, ids=str)
def test_exp_over_its_range(dtype: DType, kind: type, limit: float) -> None:
    values = np.random.default_rng(0).uniform(-limit * 1.2, limit, 20000).astype(kind)
    values = np.concatenate([values, np.array(SPECIAL, kind)])
    with np.errstate(all="ignore"):
        wanted = np.exp(values.astype(np.longdouble))
    assert ulp_distance(run("exp", dtype, values), wanted).max() <= 1.5


@pytest.mark.parametrize(("dtype", "kind", "limit"), FLOATS, ids=str)
def test_cos_near_and_far(dtype: DType, kind: type, limit: float) -> None:
    draw = np.random.default_rng(1)
    near_zeros = (draw.integers(-50, 50, 500) + 0.5) * math.pi
    values = np.concatenate([draw.uniform(-100, 100, 5000), near_zeros, SPECIAL]).astype(kind)
    with np.errstate(all="ignore"):
        wanted = np.cos(values.astype(np.longdouble))
    assert ulp_distance(run("cos", dtype, values), wanted).max() <= 2.5
    # exact values from mpmath with 60 digits
    huge = np.array([1e10, 1e22], np.float64)
    got = run("cos", dtypes.float64, huge)
    np.testing.assert_allclose(got, [0.873119622676856, 0.5232147853951389], rtol=1e-14)
