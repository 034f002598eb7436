"""Dtypes, casts and precision, on constants and on buffers (`spec/traps.md`, D)."""

from __future__ import annotations

import numpy as np
import pytest
from trap_utils import buf, same

from tg_core import Tensor, dtypes

NAN = float("nan")
BOTH = pytest.mark.parametrize("make", [buf, Tensor], ids=["buffer", "lazy"])


@pytest.mark.parametrize("length", [6, 7, 64, 449, 500])
def test_negative_float_to_unsigned_wraps(length):
    values = [-2.75, -1.5, -0.5, 0.5, 254.75, 255.0] * 100
    want = [254, 255, 0, 0, 254, 255] * 100
    same(buf(values[:length], dtypes.float32).cast(dtypes.uint8), want[:length])


@BOTH
def test_float_to_half_overflows_to_infinity(make):
    x = (
        make([65504.0, 65519.0, 65520.0, 65536.0, -70000.0], dtypes.float32)
        if make is buf
        else Tensor([65504.0, 65519.0, 65520.0, 65536.0, -70000.0], dtype=dtypes.float32)
    )
    same(x.cast(dtypes.float16).float(), [65504, 65504, np.inf, np.inf, -np.inf])
    y = buf([2049.0, 2051.0, 6e-8, 2.9e-8], dtypes.float32)
    same(y.cast(dtypes.float16).float(), [2048, 2052, 5.960464477539063e-08, 0])


@pytest.mark.parametrize(
    ("value", "want"), [(12.0, 162816.0), (9.0, 8096.0), (-5.0, 0.006744384765625)]
)
def test_exp_in_bfloat16_is_rounded_once(value, want):
    got = buf([value], dtypes.bfloat16).exp().float().item()
    assert abs(got - want) <= want * 2**-7


def test_float64_sine_of_large_arguments():
    got = buf([30000.25, 123456.5, 1e10], dtypes.float64).sin()
    same(got, [-0.9252715451075615, -0.9719751857259634, -0.4875060250875107], 1e-9)


@BOTH
def test_floor_division_and_modulo_in_all_signs(make):
    a = [-7, -8, -1, 7]
    same(make(a) // 4, [-2, -2, -1, 1])
    same(make(a) % 4, [1, 0, 3, 3])
    same(make(a) // -4, [1, 2, 0, -2])
    same(make(a) % -4, [-3, 0, -1, -1])


@BOTH
def test_nothing_is_folded_that_nan_would_change(make):
    x = make([0.0, 2.0, float("inf"), NAN])
    same(x * 0, [0, 0, NAN, NAN])
    same(x / x, [NAN, 1, NAN, NAN])
    same(x - x, [0, 0, NAN, NAN])


def test_half_statistics_accumulate_in_float32():
    assert buf([60.0] * 4096, dtypes.float16).mean().float().item() == 60.0
    x = buf([200.0] * 8 + [-200.0] * 8, dtypes.float16)
    assert x.var(correction=0).float().item() == 40000.0
    assert x.std(correction=0).float().item() == 200.0


def test_wide_python_integers_are_exact():
    assert (buf([1], dtypes.int64) + 2**40).item() == 1099511627777
    assert (buf([2**53 + 1], dtypes.int64) + 1).item() == 9007199254740994
    assert (buf([2**63 + 5], dtypes.uint64) // 2).item() == 4611686018427387906


def test_python_floats_do_not_widen_halves():
    x = buf([1.0, 2.0], dtypes.float16)
    for y in (x + 3.1, x * 3.1, x.maximum(3.1), x.clip(0.5, 1.5), (x > 1).where(x, 0.5), x**2.0):
        assert y.dtype == dtypes.float16


@pytest.mark.parametrize(
    "dtype", [dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint64]
)
def test_integer_division_by_zero_survives(dtype):
    zero = buf([0, 0, 0], dtype)
    low = dtypes.min(dtype)
    x = buf([1, 5, low], dtype)
    assert len((x // zero).tolist()) == 3
    assert len((x % zero).tolist()) == 3
    if not dtypes.is_unsigned(dtype):
        assert len((x // buf([-1, -1, -1], dtype)).tolist()) == 3
