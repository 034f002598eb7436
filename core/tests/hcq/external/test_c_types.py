from __future__ import annotations

import ctypes

import pytest

from tg_core.dtype import DType, dtypes
from tg_core.errors import CompileError
from tg_core.hcq.external.c_types import dtype_of, is_pointer, places_of


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (None, dtypes.void),
        (ctypes.c_bool, dtypes.bool),
        (ctypes.c_char, dtypes.uint8),
        (ctypes.c_byte, dtypes.int8),
        (ctypes.c_ushort, dtypes.uint16),
        (ctypes.c_int, dtypes.int32),
        (ctypes.c_uint32, dtypes.uint32),
        (ctypes.c_long, dtypes.int64),
        (ctypes.c_size_t, dtypes.uint64),
        (ctypes.c_longlong, dtypes.int64),
        (ctypes.c_float, dtypes.float32),
        (ctypes.c_double, dtypes.float64),
        (ctypes.c_void_p, dtypes.uint64),
        (ctypes.c_char_p, dtypes.uint64),
        (ctypes.POINTER(ctypes.c_int), dtypes.uint64),
        (ctypes.CFUNCTYPE(None), dtypes.uint64),
    ],
)
def test_types_of_c_as_dtypes(kind: type | None, dtype: DType) -> None:
    assert dtype_of(kind) is dtype


def test_what_is_no_plain_value_is_refused() -> None:
    with pytest.raises(CompileError, match="c_longdouble: C has no such number of 16 bytes"):
        dtype_of(ctypes.c_longdouble)
    with pytest.raises(CompileError, match="no number and no pointer"):
        dtype_of(ctypes.c_int * 3)


def test_pointers() -> None:
    kinds = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int, ctypes.c_ulong)
    assert [is_pointer(kind) for kind in kinds] == [True, True, False, False]


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_uint32)]


class Choice(ctypes.Union):
    _fields_ = [("pair", Pair), ("raw", ctypes.c_uint64)]


class Nest(ctypes.Structure):
    _fields_ = [("pairs", Pair * 2), ("choice", Choice), ("bits", ctypes.c_uint16, 5)]


def test_places_follow_the_layout_of_ctypes() -> None:
    given = {"pairs": [{"b": 1}, {"a": 2, "b": 3}], "choice": {"raw": 4}, "bits": 5}
    places = places_of(Nest, given)
    assert [(p.offset, p.kind, p.value) for p in places] == [
        (4, ctypes.c_uint32, 1),
        (8, ctypes.c_uint8, 2),
        (12, ctypes.c_uint32, 3),
        (16, ctypes.c_uint64, 4),
        (24, ctypes.c_uint16, 5),
    ]
    assert [p.bits for p in places] == [None] * 4 + [(0, 5)]
