"""Structures are laid out as ctypes lays them out."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tg_core.device import Buffer
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.hcq.external import (
    CFunction,
    HostProgram,
    address_of,
    address_value,
    ccall,
    cstruct,
    host_storage,
    linked_value,
)
from tg_core.hcq.external.structs import FIELD
from tg_core.uop.ops import Ops, UOp

OUT = host_storage(("host", "out"), dtypes.uint8, 64)
MEMCPY = CFunction("memcpy", ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t))


class Mixed(ctypes.Structure):
    _fields_ = [
        ("a", ctypes.c_uint8),
        ("b", ctypes.c_uint16),
        ("c", ctypes.c_uint32),
        ("d", ctypes.c_uint64),
    ]


class Inner(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int32)]


class Outer(ctypes.Structure):
    _fields_ = [("inner", ctypes.POINTER(Inner))]


class Deep(ctypes.Structure):
    _fields_ = [
        ("outer", ctypes.c_void_p),
        ("inside", Mixed),
        ("list", ctypes.c_int16 * 3),
        ("low", ctypes.c_uint32, 3),
        ("high", ctypes.c_uint32, 5),
        ("ratio", ctypes.c_double),
        ("name", ctypes.c_char * 4),
    ]


class Tall(Inner):
    _fields_ = [("more", ctypes.c_uint8)]


class TimeValue(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("microseconds", ctypes.c_long)]


def copied(structure: UOp, nbytes: int) -> bytes:
    """Return the bytes that the C library finds in a structure."""
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    HostProgram([ccall(MEMCPY, OUT, structure, nbytes)], {OUT: out})()
    return out.numpy()[:nbytes].tobytes()


def test_fields_of_every_width() -> None:
    values = {"a": 0x12, "b": 0x3456, "c": 0x789ABCDE, "d": 0xFEDCBA9876543210}
    assert ctypes.sizeof(Mixed) == 16
    assert copied(cstruct(Mixed, **values), 16) == bytes(Mixed(**values))


def test_what_is_not_given_is_zero() -> None:
    assert copied(cstruct(Mixed, c=5), 16) == bytes(Mixed(c=5))
    assert copied(cstruct(Mixed), 16) == bytes(16)


def test_structures_arrays_bits_and_inherited_fields_inside() -> None:
    made = cstruct(
        Deep,
        inside={"b": 7, "d": 1},
        list=[-1, 2],
        low=5,
        high=17,
        ratio=0.75,
        name=b"abc",
    )
    expected = Deep(inside=Mixed(b=7, d=1), low=5, high=17, ratio=0.75, name=b"abc")
    expected.list[0], expected.list[1] = -1, 2
    assert copied(made, ctypes.sizeof(Deep)) == bytes(expected)
    assert copied(cstruct(Tall, value=-9, more=3), 8) == bytes(Tall(-9, 3))


def test_a_pointer_to_a_structure_is_resolved_when_linked() -> None:
    outer = cstruct(Outer, inner=cstruct(Inner, value=42))
    pointer = load_word(outer)
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    HostProgram([ccall(MEMCPY, OUT, pointer, 4)], {OUT: out})()
    assert out.numpy()[:4].view(np.int32).tolist() == [42]


def test_chains_of_pointers_are_resolved_from_the_inside() -> None:
    inner = cstruct(Inner, value=-5)
    deep = cstruct(Deep, outer=cstruct(Outer, inner=inner), list=[1])
    first = load_word(deep)
    # follow two pointers with the C library, through memory of the test
    cell = OUT.after(ccall(MEMCPY, OUT, first, 8))
    second = load_word(cell)
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    HostProgram([ccall(MEMCPY, OUT.after(second), second, 4)], {OUT: out})()
    assert out.numpy()[:4].view(np.int32).tolist() == [-5]


def load_word(storage: UOp) -> UOp:
    """Return the first eight bytes of storage as a number."""
    word = UOp.const(0, dtypes.uint64)
    for i in range(8):
        byte = storage.index(UOp.const(i)).load().cast(dtypes.uint64)
        word = word | byte.alu(Ops.SHL, UOp.const(8 * i, dtypes.uint64))
    return word


def test_fields_that_the_program_computes_are_written_before_the_use() -> None:
    given = host_storage(("host", "given"), dtypes.uint32, 2)
    value = given.index(UOp.const(1)).load()
    made = cstruct(Mixed, a=1, b=value, c=value + 1, d=OUT)
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    numbers = Buffer("CPU", 2, dtypes.uint32).copyin(np.array([3, 0x10007], np.uint32).tobytes())
    program = HostProgram([ccall(MEMCPY, OUT, made, 16)], {OUT: out, given: numbers})
    program()
    found = Mixed.from_buffer_copy(out.numpy()[:16].tobytes())
    address = program.memory.address(out)
    assert (found.a, found.b, found.c, found.d) == (1, 7, 0x10008, address)


def test_computed_fields_behind_a_pointer_are_written_too() -> None:
    given = host_storage(("host", "given"), dtypes.int32, 1)
    inner = cstruct(Inner, value=given.index(UOp.const(0)).load())
    pointer = load_word(cstruct(Outer, inner=inner))
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    numbers = Buffer("CPU", 1, dtypes.int32).copyin(np.array([77], np.int32).tobytes())
    HostProgram([ccall(MEMCPY, OUT, pointer, 4)], {OUT: out, given: numbers})()
    assert out.numpy()[:4].view(np.int32).tolist() == [77]


def test_the_c_library_fills_a_structure_in() -> None:
    made = cstruct(TimeValue)
    function = CFunction("gettimeofday", ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p))
    called = ccall(function, made, 0)
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    stored = OUT.index(UOp.const(32)).store(called.cast(dtypes.uint8))
    copy = ccall(MEMCPY, OUT.after(stored), made.after(stored), ctypes.sizeof(TimeValue))
    HostProgram([copy], {OUT: out})()
    found = TimeValue.from_buffer_copy(out.numpy()[:16].tobytes())
    assert found.seconds > 1_600_000_000
    assert 0 <= found.microseconds < 1_000_000
    assert out.numpy()[32] == 0


def test_addresses_are_values_too() -> None:
    out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
    inner = cstruct(Inner, value=1234)
    there = address_value(OUT, offset=8)
    copied = ccall(MEMCPY, OUT, address_value(inner), 4)
    HostProgram([ccall(MEMCPY, there, OUT.after(copied), 4)], {OUT: out})()
    assert out.numpy()[8:12].view(np.int32).tolist() == [1234]
    assert address_value(inner) is address_value(inner)


def test_programs_that_differ_in_linked_numbers_are_one() -> None:
    programs = []
    for number in (3, -1, 1 << 40):
        out = Buffer("CPU", 64, dtypes.uint8).copyin(bytes(64))
        value = linked_value(number)
        stores = [
            OUT.index(UOp.const(i)).store((value >> 8 * i).cast(dtypes.uint8)) for i in range(8)
        ]
        program = HostProgram(stores, {OUT: out})
        program()
        assert out.numpy()[:8].view(np.int64).tolist() == [number]
        programs.append(program)
    assert len({program.body for program in programs}) == 1


def test_equal_structures_are_one_memory_unless_named() -> None:
    assert cstruct(Inner, value=1) is cstruct(Inner, value=1)
    assert cstruct(Inner, value=1) is not cstruct(Inner, value=2)
    assert cstruct(Inner, "other", value=1) is not cstruct(Inner, value=1)


def test_an_address_is_a_field_of_a_node() -> None:
    made = cstruct(Outer, inner=OUT)
    (field,) = [node for node in made.toposort() if node.op is Ops.INS]
    assert field.arg == (FIELD, 0, 8)
    assert field.src[1] is address_of(OUT)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wrong": 1}, "no field wrong; there are outer, inside, list, low, high, ratio, name"),
        ({"inside": 3}, "Mixed: expected its fields by name, found 3"),
        ({"list": [1, 2, 3, 4]}, "expected at most 3 values"),
        ({"low": 9}, "9 does not fit 3 bits"),
        ({"low": OUT}, "a bit field takes a number"),
        ({"ratio": "x"}, "field of c_double cannot hold 'x'"),
        ({"list": [OUT]}, "an address in 2 bytes"),
    ],
)
def test_wrong_fields_are_errors(fields: dict[str, object], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        cstruct(Deep, **fields)
