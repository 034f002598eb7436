"""What is known of clamped floats, and that it is true of every value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from linear_programs import splat

from tg_core.dtype import dtypes
from tg_core.renderer.float_ranges import FloatRange, float_range
from tg_core.uop.ops import Ops, UOp

X = UOp.param(0, dtypes.float32, (4,)).index(UOp.const(0, dtypes.int32)).load()


def lit(value: float) -> UOp:
    return UOp.const(value, dtypes.float32)


def less(a: UOp, b: UOp) -> UOp:
    return a.alu(Ops.CMPLT, b)


def choose(condition: UOp, a: UOp, b: UOp) -> UOp:
    return UOp(Ops.WHERE, (condition, a, b))


def clamp(x: UOp, low: UOp, high: UOp) -> UOp:
    return choose(less(x, low), low, choose(less(high, x), high, x))


IS_NAN = X.alu(Ops.CMPNE, X)
CLAMPED = clamp(X, lit(-3.0), lit(5.0))
SAFE = choose(IS_NAN, lit(0.0), CLAMPED)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (lit(2.5), FloatRange(2.5, 2.5, False)),
        (X, FloatRange(-math.inf, math.inf, True)),
        (CLAMPED, FloatRange(-3.0, 5.0, True)),
        (SAFE, FloatRange(-3.0, 5.0, False)),
        (UOp(Ops.TRUNC, (SAFE,)), FloatRange(-3.0, 5.0, False)),
        (SAFE.cast(dtypes.float64), FloatRange(-3.0, 5.0, False)),
        (choose(less(X, lit(1.0)), lit(1.0), X), FloatRange(1.0, math.inf, True)),
        (choose(less(X, lit(1.0)), X, lit(0.0)), FloatRange(-math.inf, 1.0, False)),
    ],
)
def test_range(value: UOp, wanted: FloatRange) -> None:
    assert float_range(value) == wanted


def test_sums_are_widened_for_rounding() -> None:
    found = float_range(SAFE.alu(Ops.ADD, lit(0.5)))
    assert not found.can_be_nan
    assert -2.6 < found.low <= -2.5
    assert 5.5 <= found.high < 5.6
    assert float_range(X.alu(Ops.ADD, lit(0.5))).can_be_nan


def test_vectors_by_their_splats() -> None:
    lanes = UOp.param(0, dtypes.float32, (4,)).index(UOp.const(0, dtypes.int32), 4).load()
    low, high = splat(lit(-3.0), 4), splat(lit(5.0), 4)
    assert float_range(clamp(lanes, low, high)) == FloatRange(-3.0, 5.0, True)
    mixed = UOp.stack_of(lit(1.0), lit(2.0), lit(3.0), lit(4.0))
    assert float_range(clamp(lanes, mixed, high)).low == -math.inf


def test_a_swapped_clamp_promises_nothing() -> None:
    """`WHERE(x < 5, 5, x)` bounds from below only, `WHERE(x < 5, x, y)` says nothing of y."""
    other = UOp.param(1, dtypes.float32, (4,)).index(UOp.const(0, dtypes.int32)).load()
    assert float_range(choose(less(X, lit(5.0)), lit(5.0), X)).high == math.inf
    assert float_range(choose(less(X, lit(5.0)), X, other)).can_be_nan


def test_deep_and_wide_expressions_end() -> None:
    value = X
    for i in range(60):
        value = choose(less(value, lit(float(i))), value.alu(Ops.ADD, value), value)
    assert float_range(value).can_be_nan


def test_promise_holds_for_every_kind_of_value() -> None:
    values = np.array([-np.inf, -3.5, -3.0, -0.0, 0.5, 5.0, 5.5, np.inf, np.nan], np.float32)
    clamped = np.where(values < -3, np.float32(-3), np.where(values > 5, np.float32(5), values))
    safe = np.where(values != values, np.float32(0), clamped)
    found = float_range(SAFE)
    assert ((safe >= found.low) & (safe <= found.high)).all()
