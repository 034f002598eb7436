"""Promotion, casting, kinds and limits of data types."""

from __future__ import annotations

import numpy as np
import pytest

import tg_core.array_api as xp
from tg_core import Tensor
from tg_core.config import Context
from tg_core.errors import DeviceError, DTypeError

SIGNED = (xp.int8, xp.int16, xp.int32, xp.int64)
UNSIGNED = (xp.uint8, xp.uint16, xp.uint32, xp.uint64)
# Standard, "Type promotion rules": signed (rows) with unsigned (columns).
MIXED = (
    (xp.int16, xp.int32, xp.int64),
    (xp.int16, xp.int32, xp.int64),
    (xp.int32, xp.int32, xp.int64),
    (xp.int64, xp.int64, xp.int64),
)


def test_promotion_within_a_kind() -> None:
    for kind in (SIGNED, UNSIGNED, (xp.float32, xp.float64)):
        for i, first in enumerate(kind):
            for j, second in enumerate(kind):
                assert xp.result_type(first, second) is kind[max(i, j)]


def test_promotion_of_mixed_signs() -> None:
    for signed, row in zip(SIGNED, MIXED, strict=True):
        for unsigned, expected in zip(UNSIGNED, row, strict=False):
            assert xp.result_type(signed, unsigned) is expected
            assert xp.result_type(unsigned, signed) is expected
            assert (xp.ones((1,), dtype=signed) + xp.ones((1,), dtype=unsigned)).dtype is expected


def test_no_integer_holds_uint64_and_a_signed_one() -> None:
    with pytest.raises(DTypeError, match="no integer holds uint64 and int64"):
        xp.result_type(xp.uint64, xp.int64)
    with pytest.raises(DTypeError, match="no integer holds"):
        xp.add(xp.ones((1,), dtype=xp.uint64), xp.ones((1,), dtype=xp.int8))


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, xp.float32, xp.float64])
def test_python_scalars_have_a_kind_only(dtype: object) -> None:
    x = xp.ones((1,), dtype=dtype)
    assert xp.result_type(x, 1) is dtype
    assert xp.add(x, 1).dtype is dtype and (x + 1).dtype is dtype and (1 + x).dtype is dtype
    assert (3**x).dtype is dtype and (x**2).dtype is dtype
    if dtype in (xp.float32, xp.float64):
        assert xp.result_type(x, 0.5) is dtype and (x * 0.5).dtype is dtype


def test_arrays_without_axes_take_part_in_promotion() -> None:
    zero = xp.asarray(0, dtype=xp.float64)
    assert xp.add(xp.ones((1,), dtype=xp.float32), zero).dtype is xp.float64


def test_defaults() -> None:
    assert xp.asarray(1).dtype is xp.int32 and xp.asarray(1.0).dtype is xp.float32
    assert xp.arange(3).dtype is xp.int32 and xp.zeros(3).dtype is xp.float32
    assert xp.sum(xp.ones((2,), dtype=xp.uint8)).dtype is xp.uint32
    assert xp.sum(xp.ones((2,), dtype=xp.int8)).dtype is xp.int32
    assert xp.argmax(xp.ones((2,))).dtype is xp.int32
    with Context(DEFAULT_INT="int64", DEFAULT_FLOAT="float64"):
        assert xp.asarray(1).dtype is xp.int64 and xp.asarray(1.0).dtype is xp.float64
        assert xp.sum(xp.ones((2,), dtype=xp.uint8)).dtype is xp.uint64
        assert xp.argmax(xp.ones((2,))).dtype is xp.int64
        info = xp.__array_namespace_info__()
        assert info.default_dtypes()["indexing"] is xp.int64


def test_arange_widens_rather_than_wraps() -> None:
    assert xp.arange(2**40, 2**40 + 3).dtype is xp.int64
    assert xp.arange(2**40, 2**40 + 3).tolist() == [2**40, 2**40 + 1, 2**40 + 2]


def test_can_cast() -> None:
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert xp.can_cast(xp.uint8, xp.int16) and not xp.can_cast(xp.uint8, xp.int8)
    assert xp.can_cast(xp.ones((1,)), xp.float64) and not xp.can_cast(xp.int32, xp.float64)


def test_isdtype() -> None:
    assert xp.isdtype(xp.int8, "signed integer") and not xp.isdtype(xp.uint8, "signed integer")
    assert xp.isdtype(xp.float64, ("bool", "real floating"))
    assert xp.isdtype(xp.bool, xp.bool) and not xp.isdtype(xp.bool, "numeric")
    assert not xp.isdtype(xp.float32, "complex floating")
    assert xp.isdtype(Tensor([1.0], dtype="float16").dtype, "real floating")
    with pytest.raises(DTypeError, match="unknown kind 'numbers'"):
        xp.isdtype(xp.int8, "numbers")


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_equals_that_of_numpy(name: str) -> None:
    found, expected = xp.finfo(Tensor([1.0], dtype=name)), np.finfo(name)
    assert found.bits == expected.bits and found.dtype is Tensor([1.0], dtype=name).dtype
    for field in ("eps", "max", "min", "smallest_normal"):
        assert getattr(found, field) == float(getattr(expected, field)), field


def test_iinfo() -> None:
    assert (xp.iinfo(xp.uint16).min, xp.iinfo(xp.uint16).max) == (0, 65535)
    assert xp.iinfo(xp.int64).min == -(2**63) and xp.iinfo(xp.int64).bits == 64
    with pytest.raises(DTypeError, match="expected an integer, found float32"):
        xp.iinfo(xp.float32)
    with pytest.raises(DTypeError, match="expected a float, found int8"):
        xp.finfo(xp.int8)


def test_inspection() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.capabilities()["data-dependent shapes"]
    assert info.default_device() in info.devices()
    assert info.dtypes()["bool"] is xp.bool and len(info.dtypes()) == 11
    assert info.dtypes(kind="complex floating") == {}
    assert set(info.dtypes(kind=("signed integer", "bool"))) == {
        "int8",
        "int16",
        "int32",
        "int64",
        "bool",
    }
    assert info.default_dtypes() == {
        "real floating": xp.float32,
        "integral": xp.int32,
        "indexing": xp.int32,
    }


def test_operators_shift_in_the_common_dtype_and_methods_in_that_of_the_value() -> None:
    value, places = xp.ones((2,), dtype=xp.int8), xp.full((2,), 7, dtype=xp.int16)
    assert (value << places).dtype is xp.int16 and (value << places).tolist() == [128, 128]
    assert value.lshift(places).dtype is xp.int8
    value <<= xp.full((2,), 2, dtype=xp.int16)
    assert value.dtype is xp.int8 and value.tolist() == [4, 4]


def test_inspection_refuses_what_does_not_exist() -> None:
    info = xp.__array_namespace_info__()
    for ask in (info.dtypes, info.default_dtypes):
        assert ask(device="PYTHON") == ask()
        with pytest.raises(DeviceError, match="NOWHERE"):
            ask(device="NOWHERE")
    for kind in ("complex", ["bool"]):
        with pytest.raises(DTypeError, match="unknown kind"):
            info.dtypes(kind=kind)  # type: ignore[arg-type]  # what is tested


def test_complex_numbers_are_refused_as_such() -> None:
    x = xp.ones(2)
    assert not hasattr(xp, "complex64")
    for use in (
        lambda: xp.asarray(1j),
        lambda: xp.full(2, 1j),  # type: ignore[arg-type]  # what is tested
        lambda: xp.full_like(x, 1j),  # type: ignore[arg-type]  # what is tested
        lambda: xp.add(x, 1j),  # type: ignore[arg-type]  # what is tested
        lambda: xp.where(x > 0, x, 1j),  # type: ignore[arg-type]  # what is tested
        lambda: xp.result_type(xp.float32, 1j),  # type: ignore[arg-type]  # what is tested
        lambda: xp.linspace(0, 1j, 3),  # type: ignore[arg-type]  # what is tested
    ):
        with pytest.raises(DTypeError, match="complex numbers have no data type here"):
            use()
