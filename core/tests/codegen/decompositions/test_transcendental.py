"""EXP2, LOG2, SIN and POW from arithmetic, in units of the last place against numpy's extended
precision.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from codegen_kernels import GRID, apply, ulp_distance

from tg_core.dtype import DType, dtypes
from tg_core.uop.ops import Ops, UOp

RNG = np.random.default_rng(3)
FLOATS = [(dtypes.float32, np.float32), (dtypes.float64, np.float64)]


def spread(kind: type, count: int = 20000) -> np.ndarray:
    """Return numbers of every magnitude and both signs, subnormals and special values among
    them.
    """
    info = np.finfo(kind)
    unsigned = np.dtype(f"u{np.dtype(kind).itemsize}")
    bits = RNG.integers(0, 1 << (8 * unsigned.itemsize), count, dtype=np.uint64).astype(unsigned)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        math.inf,
        -math.inf,
        math.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        -info.tiny,
    ]
    return np.concatenate([bits.view(kind), np.array(special, kind)])


def unary(op: Ops, dtype: DType, values: np.ndarray) -> np.ndarray:
    def function(x: UOp) -> UOp:
        return UOp(op, (x,))

    return apply(function, GRID, dtype, (values, dtype))


def exact(function: np.ufunc, values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return function(values.astype(np.longdouble))


@pytest.mark.parametrize(("dtype", "kind"), FLOATS, ids=str)
def test_exp2_is_within_one_and_a_half_ulp(dtype: DType, kind: type) -> None:
    info = np.finfo(kind)
    values = np.concatenate(
        [RNG.uniform(info.minexp - 60, info.maxexp + 3, 20000), RNG.uniform(-2, 2, 2000)]
    ).astype(kind)
    values = np.concatenate(
        [values, np.arange(info.minexp - 55, info.maxexp + 2).astype(kind), spread(kind)]
    )
    distance = ulp_distance(unary(Ops.EXP2, dtype, values), exact(np.exp2, values))
    assert distance.max() < 1.5, values[distance.argmax()]


def test_exp2_of_integers_is_exact() -> None:
    values = np.arange(-149, 128).astype(np.float32)
    assert np.array_equal(
        unary(Ops.EXP2, dtypes.float32, values),
        np.exp2(values.astype(np.float64)).astype(np.float32),
    )


@pytest.mark.parametrize(("dtype", "kind"), FLOATS, ids=str)
def test_log2_is_within_one_and_a_half_ulp(dtype: DType, kind: type) -> None:
    values = np.concatenate([RNG.uniform(0.4, 2.5, 20000), 1 + RNG.normal(0, 1e-3, 2000)]).astype(
        kind
    )
    values = np.concatenate([values, spread(kind)])
    distance = ulp_distance(unary(Ops.LOG2, dtype, values), exact(np.log2, values))
    assert distance.max() < 1.5, values[distance.argmax()]


@pytest.mark.parametrize(("dtype", "kind"), FLOATS, ids=str)
def test_log2_of_powers_of_two_is_exact(dtype: DType, kind: type) -> None:
    info = np.finfo(kind)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    assert np.array_equal(
        unary(Ops.LOG2, dtype, np.ldexp(kind(1), exponents)), exponents.astype(kind)
    )


def sine_reference(values: np.ndarray) -> np.ndarray:
    """Return sines by exact rational reduction of the argument, in extended precision."""
    bits = 1300
    scale = 1 << bits
    pi = _pi(scale)
    result = np.empty(len(values), np.longdouble)
    for i, value in enumerate(values):
        if not math.isfinite(value):
            result[i] = np.nan
            continue
        numerator, denominator = float(value).as_integer_ratio()
        turns, rest = divmod(2 * numerator * scale // denominator + pi // 2, pi)
        rest -= pi // 2
        # rest / (2 * scale) is the remainder modulo pi/2, in (-pi/4, pi/4)
        shift = max(rest.bit_length() - 64, 0)
        remainder = np.ldexp(np.longdouble(rest >> shift), shift - bits - 1)
        parts = (np.sin(remainder), np.cos(remainder), -np.sin(remainder), -np.cos(remainder))
        result[i] = parts[turns % 4]
    return result


def _pi(scale: int) -> int:
    """Return pi by the Gauss-Legendre iteration in integers."""
    guard = 64
    one = scale << guard
    a, b, t, p = one, math.isqrt(one * one // 2), one // 4, 1
    for _ in range(14):
        mean = (a + b) // 2
        b = math.isqrt(a * b)
        t -= p * (a - mean) ** 2 // one
        a, p = mean, 2 * p
    return ((a + b) ** 2 // (4 * t)) >> guard


@pytest.mark.parametrize(("dtype", "kind"), FLOATS, ids=str)
def test_sin_is_within_two_ulp_for_every_argument(dtype: DType, kind: type) -> None:
    multiples = np.arange(1, 500) * (math.pi / 2)
    values = np.concatenate(
        [RNG.uniform(-10, 10, 1000), multiples, RNG.uniform(-1e6, 1e6, 500)]
    ).astype(kind)
    # 16367173 * 2^72 and 6381956970095103 * 2^797 come closest to a multiple of pi/2
    closest = [16367173.0 * 2.0**72] if kind is np.float32 else [6381956970095103.0 * 2.0**797]
    values = np.concatenate([values, spread(kind, 800), np.array(closest, kind)])
    distance = ulp_distance(unary(Ops.SIN, dtype, values), sine_reference(values))
    assert distance.max() < 2, values[distance.argmax()]


def test_sin_keeps_the_sign_of_zero() -> None:
    result = unary(Ops.SIN, dtypes.float32, np.array([-0.0, 0.0], np.float32))
    assert list(np.signbit(result)) == [True, False]


def power(dtype: DType, base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    def function(x: UOp, y: UOp) -> UOp:
        return UOp(Ops.POW, (x, y))

    return apply(function, GRID, dtype, (base, dtype), (exponent, dtype))


@pytest.mark.parametrize(
    ("dtype", "kind", "limit"),
    [(dtypes.float32, np.float32, 1.0), (dtypes.float64, np.float64, 4.0)],
    ids=str,
)
def test_pow_is_within_its_bound(dtype: DType, kind: type, limit: float) -> None:
    info = np.finfo(kind)
    base = np.exp2(RNG.uniform(-30, 30, 3000)).astype(kind)
    base = np.concatenate([base, RNG.uniform(0.5, 2, 3000).astype(kind), np.abs(spread(kind))])
    with np.errstate(all="ignore"):
        exponent = RNG.uniform(info.minexp, info.maxexp, len(base)) / np.log2(
            base.astype(np.float64)
        )
        exponent = np.clip(exponent, -1e30, 1e30).astype(kind)
    with np.errstate(all="ignore"):
        want = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
    distance = ulp_distance(power(dtype, base, exponent), want)
    assert distance.max() < limit, (base[distance.argmax()], exponent[distance.argmax()])


@pytest.mark.parametrize(("dtype", "kind"), FLOATS, ids=str)
def test_pow_special_cases_match_ieee(dtype: DType, kind: type) -> None:
    special = np.array(
        [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.0,
            -2.0,
            3.0,
            -3.0,
            1e30,
            -1e30,
            math.inf,
            -math.inf,
            math.nan,
        ],
        kind,
    )
    base, exponent = (a.reshape(-1) for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = np.power(base.astype(np.float64), exponent.astype(np.float64)).astype(kind)
    got = power(dtype, base, exponent)
    with np.errstate(all="ignore"):
        exact_power = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
    assert ulp_distance(got, exact_power).max() < 2
    comparable = ~np.isnan(want)
    assert np.array_equal(np.signbit(got)[comparable], np.signbit(want)[comparable])


def test_pow_of_integers_wraps_and_truncates() -> None:
    base = np.array([2, 3, -3, 7, 0, 0, 1, -1, -1, 5, 10, -2], np.int32)
    exponent = np.array([10, 4, 3, 0, 0, 5, -4, -3, -2, -1, 9, 31], np.int32)
    want = [1024, 81, -27, 1, 1, 0, 1, -1, 1, 0, 10**9, -(2**31)]
    assert power(dtypes.int32, base, exponent).tolist() == want


def test_half_functions_are_rounded_once() -> None:
    values = np.linspace(-14, 15, 4001).astype(np.float16)
    got = unary(Ops.EXP2, dtypes.float16, values)
    assert np.array_equal(got, np.exp2(values.astype(np.float64)).astype(np.float16))
