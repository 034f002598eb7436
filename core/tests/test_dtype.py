"""The table of dtypes: promotion cell by cell, truncation against numpy and tables of every code."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import struct

import numpy as np
import pytest

from tg_core.dtype import (
    DType,
    Invalid,
    InvalidType,
    dtypes,
    from_numpy,
    least_float,
    promote,
    promote_concrete,
    sum_dtype,
    to_dtype,
    to_numpy,
    truncate,
)
from tg_core.errors import DTypeError

SHORT = {
    "b1": dtypes.bool, "u1": dtypes.uint8, "u2": dtypes.uint16, "u4": dtypes.uint32, "u8": dtypes.uint64,
    "i1": dtypes.int8, "i2": dtypes.int16, "i4": dtypes.int32, "i8": dtypes.int64, "bf": dtypes.bfloat16,
    "f2": dtypes.float16, "f4": dtypes.float32, "f8": dtypes.float64, "i*": dtypes.weakint, "f*": dtypes.weakfloat,
}  # fmt: skip
# "Type promotion semantics", jax.readthedocs.io, the table of binary promotion.
JAX = """
   b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 i* f*
b1 b1 u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 i* f*
u1 u1 u1 u2 u4 u8 i2 i2 i4 i8 bf f2 f4 f8 u1 f*
u2 u2 u2 u2 u4 u8 i4 i4 i4 i8 bf f2 f4 f8 u2 f*
u4 u4 u4 u4 u4 u8 i8 i8 i8 i8 bf f2 f4 f8 u4 f*
u8 u8 u8 u8 u8 u8 f* f* f* f* bf f2 f4 f8 u8 f*
i1 i1 i2 i4 i8 f* i1 i2 i4 i8 bf f2 f4 f8 i1 f*
i2 i2 i2 i4 i8 f* i2 i2 i4 i8 bf f2 f4 f8 i2 f*
i4 i4 i4 i4 i8 f* i4 i4 i4 i8 bf f2 f4 f8 i4 f*
i8 i8 i8 i8 i8 f* i8 i8 i8 i8 bf f2 f4 f8 i8 f*
bf bf bf bf bf bf bf bf bf bf bf f4 f4 f8 bf bf
f2 f2 f2 f2 f2 f2 f2 f2 f2 f2 f4 f2 f4 f8 f2 f2
f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f4 f8 f4 f4
f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
i* i* u1 u2 u4 u8 i1 i2 i4 i8 bf f2 f4 f8 i* f*
f* f* f* f* f* f* f* f* f* f* bf f2 f4 f8 f* f*
"""


def test_promotion_is_the_table_of_jax() -> None:
    header, *rows = [line.split() for line in JAX.strip().splitlines()]
    assert len(rows) == len(header) == len(SHORT)
    for left, *cells in rows:
        for right, cell in zip(header, cells, strict=True):
            found = promote(SHORT[left], SHORT[right])
            assert found is SHORT[cell], f"{left} with {right}: {found.name}, expected {cell}"


def test_fp8_lies_between_weak_floats_and_halves() -> None:
    for a, b in itertools.product(dtypes.fp8s, dtypes.fp8s):
        assert promote(a, b) is (a if a is b else dtypes.float16)
    for fp8 in dtypes.fp8s:
        for other in (dtypes.bool, *dtypes.ints, dtypes.weakint, dtypes.weakfloat):
            assert promote(fp8, other) is fp8
        for other in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
            assert promote(fp8, other) is other


def test_promotion_is_a_join() -> None:
    everything = [*dtypes.all, dtypes.weakint, dtypes.weakfloat]
    for a, b in itertools.product(everything, everything):
        assert promote(a, b) is promote(b, a)
        assert promote(a, promote(a, b)) is promote(a, b), (a, b)
    # two fp8 variants have two least common dtypes, of which float16 is taken
    one_fp8 = [d for d in everything if d not in dtypes.fp8s[1:]]
    for a, b, c in itertools.product(one_fp8, one_fp8, one_fp8):
        assert promote(promote(a, b), c) is promote(a, promote(b, c)) is promote(a, b, c), (a, b, c)


def test_promotion_without_an_answer() -> None:
    with pytest.raises(DTypeError, match="no common dtype of nothing"):
        promote()
    with pytest.raises(DTypeError, match="void, int32"):
        promote(dtypes.void, dtypes.int32)


def test_weak_results_commit() -> None:
    assert promote_concrete(dtypes.int64, dtypes.uint64) is dtypes.float32
    assert promote_concrete(dtypes.weakint, dtypes.bool) is dtypes.weakint
    assert promote_concrete(dtypes.weakfloat, dtypes.int8) is dtypes.float32
    assert least_float(dtypes.int8) is dtypes.float32
    assert least_float(dtypes.weakint) is dtypes.weakfloat
    assert least_float(dtypes.float16) is dtypes.float16


SUMS = {"b1": "i4", "i1": "i4", "i2": "i4", "i4": "i4", "i8": "i8", "u1": "u4", "u2": "u4", "u4": "u4", "u8": "u8",
        "f2": "f2", "bf": "bf", "f4": "f4", "f8": "f8", "i*": "i4"}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums_widen(name: str) -> None:
    assert sum_dtype(SHORT[name]) is SHORT[SUMS[name]]


@pytest.mark.parametrize("dtype", [dtypes.bool, *dtypes.ints])
def test_limits_are_those_of_numpy(dtype: DType) -> None:
    if dtype is dtypes.bool:
        assert (dtypes.min(dtype), dtypes.max(dtype)) == (False, True)
        return
    info = np.iinfo(to_numpy(dtype))
    assert (dtypes.min(dtype), dtypes.max(dtype)) == (info.min, info.max)


@pytest.mark.parametrize("dtype", dtypes.floats)
def test_floats_are_unbounded(dtype: DType) -> None:
    assert (dtypes.min(dtype), dtypes.max(dtype)) == (-math.inf, math.inf)


INTEGERS = [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63),
            2**64 - 1, 2**64, 2**64 + 5, -(2**64) - 7, 12345678901234567890123]  # fmt: skip


@pytest.mark.parametrize("dtype", dtypes.ints)
def test_integers_wrap_as_numpy_does(dtype: DType) -> None:
    for value in INTEGERS:
        low = np.array([value % 2**64], np.uint64).view(np.int64)
        want = int(low.astype(to_numpy(dtype))[0])
        assert truncate(value, dtype) == want, value
        assert type(truncate(value, dtype)) is int
    for value in (1.9, -1.9, 0.5, -0.5, 254.99, -3.0e9, 2.0**40 + 3):
        assert truncate(value, dtype) == truncate(int(value), dtype)
    for value in (math.nan, math.inf, -math.inf):
        assert truncate(value, dtype) == 0


FLOATS = [0.0, -0.0, 1.0, 1 / 3, -2 / 3, 65504.0, 65519.99, 65520.0, -65520.0, 1e-8, 5.96e-8, 2.98e-8, 2.981e-8, 6.1e-5,
          3.4028235e38, 3.4028236e38, 3.5e38, 1e39, -1e300, 1e-45, 7e-46, 7.1e-46, 1e-310, 448.0, 464.0, 465.0, 57344.0,
          61440.0, 1e5, 240.0, 248.0, 2**-9, 2**-10, 2**-10 + 1e-9, 2**-16, 2**-17, 2**-18, 17.0, 19.0, 18.0]  # fmt: skip


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.float32, dtypes.float64])
def test_floats_round_as_numpy_does(dtype: DType) -> None:
    rng = np.random.default_rng(0)
    random = (rng.standard_normal(2000) * 2.0 ** rng.integers(-30, 20, 2000)).tolist()
    with np.errstate(over="ignore"):
        for value in FLOATS + random + [math.inf, -math.inf, math.nan]:
            want = float(np.array(value, np.float64).astype(to_numpy(dtype)))
            found = truncate(value, dtype)
            assert struct.pack("d", found) == struct.pack("d", want), (value, found, want)


def codes(dtype: DType) -> list[float]:
    """Return every finite value of a narrow format, from its definition."""
    exponent, mantissa = dtype.exponent_bits, dtype.bits - 1 - dtype.exponent_bits
    fnuz = dtype.name.endswith("fnuz")
    bias = 2 ** (exponent - 1) - (0 if fnuz else 1)
    values = []
    for code in range(1 << (dtype.bits - 1)):
        e, m = code >> mantissa, code & ((1 << mantissa) - 1)
        if dtype is dtypes.fp8e4m3 and code == 127:
            continue
        if not fnuz and dtype is not dtypes.fp8e4m3 and e == (1 << exponent) - 1:
            continue
        scale = 2.0 ** (max(e, 1) - bias - mantissa)
        values.append((m + (0 if e == 0 else 1 << mantissa)) * scale)
    return values


@pytest.mark.parametrize("dtype", [*dtypes.fp8s, dtypes.bfloat16])
def test_narrow_floats_round_to_the_nearest_code(dtype: DType) -> None:
    table = np.array(codes(dtype))
    assert table.max() == dtype.finite_max
    for value in table[:: max(1, len(table) // 500)].tolist():
        assert truncate(value, dtype) == value
        assert truncate(-value, dtype) == -value
    rng = np.random.default_rng(1)
    values = np.abs(rng.standard_normal(1500)) * 2.0 ** rng.integers(-20, 15, 1500)
    values = np.concatenate([values, (table[:-1] + table[1:])[:200] / 2])
    for value in values[values < dtype.finite_max].tolist():
        above = int(np.searchsorted(table, value))
        below = max(above - 1, 0)
        gaps = abs(table[above] - value), abs(value - table[below])
        # the code with an even mantissa wins a tie; neighbours differ in the last bit
        nearest = above if gaps[0] < gaps[1] or (gaps[0] == gaps[1] and above % 2 == 0) else below
        assert truncate(value, dtype) == table[nearest], (value, table[nearest])
        assert truncate(-value, dtype) == -table[nearest]


def test_overflow_of_narrow_floats() -> None:
    for dtype in dtypes.fp8s:
        assert truncate(1e9, dtype) == dtype.finite_max
        assert truncate(-math.inf, dtype) == -dtype.finite_max
        assert math.isnan(truncate(math.nan, dtype))
    assert truncate(3.4e38, dtypes.bfloat16) == math.inf
    assert truncate(10**400, dtypes.float32) == math.inf
    assert truncate(-(10**400), dtypes.float16) == -math.inf


def test_zero_keeps_its_sign_where_the_format_has_one() -> None:
    for dtype in dtypes.floats:
        want = 1.0 if dtype.name.endswith("fnuz") else -1.0
        assert math.copysign(1.0, truncate(-0.0, dtype)) == want, dtype
        assert math.copysign(1.0, truncate(-1e-30, dtypes.fp8e4m3)) == -1.0


def test_bool_and_void() -> None:
    assert truncate(math.nan, dtypes.bool) is True
    assert truncate(0.0, dtypes.bool) is False
    with pytest.raises(DTypeError, match="void holds no values"):
        truncate(1, dtypes.void)


def test_dtypes_are_one_object_each() -> None:
    for dtype in (*dtypes.all, dtypes.weakint, dtypes.weakfloat, dtypes.void):
        assert to_dtype(dtype.name) is to_dtype(dtype) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert repr(dtype) == f"dtypes.{dtype.name}"
    assert copy.deepcopy(Invalid) is pickle.loads(pickle.dumps(Invalid)) is InvalidType() is Invalid
    with pytest.raises(DTypeError, match="unknown 'int33'"):
        to_dtype("int33")


def test_kinds() -> None:
    assert [d.name for d in dtypes.all if dtypes.is_unsigned(d)] == ["uint8", "uint16", "uint32", "uint64"]  # fmt: skip
    assert dtypes.is_int(dtypes.weakint)
    assert not dtypes.is_int(dtypes.bool)
    assert dtypes.is_float(dtypes.weakfloat)
    assert {d.itemsize for d in dtypes.fp8s} == {dtypes.bool.itemsize} == {1}
    assert dtypes.from_py(True) is dtypes.bool
    assert dtypes.from_py(1) is dtypes.weakint
    assert dtypes.from_py(1.0) is dtypes.weakfloat
    with pytest.raises(DTypeError, match="found str"):
        dtypes.from_py("1")


def test_numpy_round_trip() -> None:
    for dtype in dtypes.all:
        kind = to_numpy(dtype)
        if kind is None:
            assert dtype in (*dtypes.fp8s, dtypes.bfloat16)
        else:
            assert from_numpy(kind) is dtype
            assert kind.itemsize == dtype.itemsize
    for unknown in (np.complex64, np.object_, np.dtype("M8[s]"), np.dtype("U4")):
        with pytest.raises(DTypeError, match="has no counterpart"):
            from_numpy(np.dtype(unknown))
