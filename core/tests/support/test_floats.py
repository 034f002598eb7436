"""Narrow floats against definitions that share no code with the module."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tg_core.support.floats import (
    FP8_FORMATS,
    NARROW_FLOATS,
    decode,
    encode,
    fused_multiply_add,
    integer_to_float,
)

# name: (exponent bits, mantissa bits, bias)
LAYOUTS = {
    "bfloat16": (8, 7, 127),
    "fp8e4m3": (4, 3, 7),
    "fp8e5m2": (5, 2, 15),
    "fp8e4m3fnuz": (4, 3, 8),
    "fp8e5m2fnuz": (5, 2, 16),
}


def value_by_definition(code: int, name: str) -> float:
    exponent_bits, mantissa_bits, bias = LAYOUTS[name]
    width = 1 + exponent_bits + mantissa_bits
    sign = -1.0 if code >> (width - 1) else 1.0
    exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    top = (1 << exponent_bits) - 1
    if name.endswith("fnuz"):
        if code == 0x80:
            return math.nan
    elif name == "fp8e4m3":
        if exponent == top and mantissa == 7:
            return math.nan
    elif exponent == top:
        return sign * math.inf if mantissa == 0 else math.nan
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - mantissa_bits)
    return sign * (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)


def codes_of(name: str) -> np.ndarray:
    return (
        np.arange(65536, dtype=np.uint16) if name == "bfloat16" else np.arange(256, dtype=np.uint8)
    )


@pytest.mark.parametrize("name", sorted(NARROW_FLOATS))
def test_decode_every_code(name: str) -> None:
    codes = codes_of(name)
    want = np.array([value_by_definition(int(code), name) for code in codes])
    got = decode(codes, name)
    np.testing.assert_array_equal(got, want)
    finite = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[finite], np.signbit(want)[finite])


@pytest.mark.parametrize("name", sorted(NARROW_FLOATS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_encode_inverts_decode(name: str, dtype: type) -> None:
    codes = codes_of(name)
    values = decode(codes, name)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        back = encode(values.astype(dtype), name)
    keep = np.isfinite(values)
    np.testing.assert_array_equal(back[keep], codes[keep])
    assert np.isnan(decode(back[np.isnan(values)], name)).all()


@pytest.mark.parametrize("name", sorted(NARROW_FLOATS))
def test_encode_rounds_to_nearest_even(name: str) -> None:
    """At every midpoint of neighbours, and at the next float64 on either side."""
    codes = codes_of(name)
    values = np.array([value_by_definition(int(code), name) for code in codes])
    order = np.argsort(values[np.isfinite(values) & ~np.signbit(values)])
    grid = values[np.isfinite(values) & ~np.signbit(values)][order]
    grid_codes = codes[np.isfinite(values) & ~np.signbit(values)][order]
    middle = (grid[:-1] + grid[1:]) / 2
    even = np.where(grid_codes[:-1] % 2 == 0, grid_codes[:-1], grid_codes[1:])
    np.testing.assert_array_equal(encode(middle, name), even)
    np.testing.assert_array_equal(encode(np.nextafter(middle, 0.0), name), grid_codes[:-1])
    np.testing.assert_array_equal(encode(np.nextafter(middle, np.inf), name), grid_codes[1:])


@pytest.mark.parametrize("name", sorted(FP8_FORMATS))
def test_fp8_saturates_and_keeps_nan(name: str) -> None:
    largest = {"fp8e4m3": 448.0, "fp8e4m3fnuz": 240.0}.get(name, 57344.0)
    big = np.array([largest * 1.01, 1e30, np.inf, -1e30, -np.inf], np.float32)
    np.testing.assert_array_equal(decode(encode(big, name), name), np.sign(big) * largest)
    assert np.isnan(decode(encode(np.array([np.nan, -np.nan], np.float32), name), name)).all()


def test_fnuz_has_no_negative_zero() -> None:
    for name in ("fp8e4m3fnuz", "fp8e5m2fnuz"):
        assert encode(np.array([-0.0, -1e-30]), name).tolist() == [0, 0]
    assert encode(np.array([-0.0]), "fp8e4m3").tolist() == [0x80]


def test_bfloat16_overflow_and_nan() -> None:
    got = encode(np.array([3.4e38, -3.4e38, np.inf, 1e300], np.float64), "bfloat16")
    assert got.tolist() == [0x7F80, 0xFF80, 0x7F80, 0x7F80]
    payload = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(decode(encode(payload, "bfloat16"), "bfloat16")).all()


def test_integers_round_once() -> None:
    # 2**40 + 2**32 is a tie of bfloat16; one more decides it, and a float32 in between would lose
    # the one
    values = np.array([2**40 + 2**32, 2**40 + 2**32 + 1, -(2**62) - 2**54 - 1, 7], np.int64)
    got = decode(encode(integer_to_float(values), "bfloat16"), "bfloat16")
    assert got.tolist() == [2.0**40, 2.0**40 + 2.0**33, -(2.0**62) - 2.0**55, 7.0]
    top = np.array([2**64 - 1, 2**63 + 2**55 + 1], np.uint64)
    assert decode(encode(integer_to_float(top), "bfloat16"), "bfloat16").tolist() == [
        2.0**64,
        2.0**63 + 2.0**56,
    ]


def _nearest(exact: Fraction, dtype: type) -> float:
    """Return the value nearest to a fraction, ties to even, by looking at the neighbours."""
    guess = dtype(float(exact))
    candidates = [np.nextafter(guess, dtype(-np.inf)), guess, np.nextafter(guess, dtype(np.inf))]
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]

    def distance(x: np.floating) -> tuple[Fraction, int]:
        return abs(Fraction(float(x)) - exact), int(x.view(bits)) & 1

    return float(min((x for x in candidates if np.isfinite(x)), key=distance))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_fused_multiply_add(dtype: type) -> None:
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(2000).astype(dtype) for _ in range(2))
    c = (random.standard_normal(2000) * 2.0 ** random.integers(-12, 12, 2000)).astype(dtype)
    # cancellation: c is minus the rounded product
    c[:500] = -(a[:500] * b[:500])
    got = fused_multiply_add(a, b, c).astype(dtype)
    want = [
        _nearest(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)), dtype)
        for x, y, z in zip(a, b, c)
    ]
    np.testing.assert_array_equal(got.astype(np.float64), want)


def test_fused_multiply_add_extremes() -> None:
    a = np.array([1e308, 1e-200, 1e300, np.inf, 0.0, -0.0, 5e-324])
    b = np.array([10.0, 1e-200, 1e300, 0.0, -1.0, 0.0, 0.5])
    c = np.array([-1e308, 1e-320, -1.0, 1.0, 0.0, -0.0, 5e-324])
    got = fused_multiply_add(a, b, c)
    assert got[:3].tolist() == [np.inf, 1e-320, np.inf]
    assert np.isnan(got[3])
    assert got[4] == 0.0
    assert not np.signbit(got[4])
    assert np.signbit(got[5])
    assert got[6] == 1e-323
