"""Compiled programs that call C functions through pointers, run on this machine."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from tg_core.backend import (
    AddrSpace,
    Buffer,
    BufferArg,
    CompileError,
    Device,
    DType,
    KernelInfo,
    Ops,
    UOp,
    dtypes,
)
from tg_core.codegen import compile_program

LIBC = ctypes.CDLL(None)
C_TYPES: dict[DType, Any] = {
    dtypes.bool: ctypes.c_bool,
    dtypes.int8: ctypes.c_int8,
    dtypes.uint8: ctypes.c_uint8,
    dtypes.int16: ctypes.c_int16,
    dtypes.uint16: ctypes.c_uint16,
    dtypes.int32: ctypes.c_int32,
    dtypes.uint32: ctypes.c_uint32,
    dtypes.int64: ctypes.c_int64,
    dtypes.uint64: ctypes.c_uint64,
    dtypes.float32: ctypes.c_float,
    dtypes.float64: ctypes.c_double,
}
EXAMPLES = {
    "bool": True,
    "int8": -128,
    "uint8": 255,
    "int16": -32768,
    "uint16": 65535,
    "int32": -(1 << 31),
    "uint32": (1 << 32) - 1,
    "int64": -(1 << 63),
    "uint64": (1 << 64) - 1,
    "float32": -1.5,
    "float64": 0.1,
}


def address_of(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def param(slot: int, dtype: DType, size: int = 8) -> UOp:
    return UOp.param(slot, dtype, (size,))


def foreign(pointer: UOp, *args: UOp, result: DType | None = None) -> UOp:
    arg: Any = "f" if result is None else ("f", result)
    return UOp.call(UOp(Ops.CUSTOM_FUNCTION, (pointer,), arg), *args)


POINTER = param(0, dtypes.uint64).index(0).load()


def run(*effects: UOp, buffers: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Compile effects into a program, run it on copies of the arrays, and return them."""
    device = Device["CPU"]
    program = compile_program(UOp.sink(*effects, arg=KernelInfo("t", ())), device.renderer)
    storage = []
    for array in buffers:
        buffer = Buffer("CPU", array.nbytes, dtypes.uint8)
        storage.append(buffer.copyin(array.tobytes()))
    loaded = device.load_program(program.arg.name, program.src[3].arg, program.arg)
    chosen = [storage[slot].opaque for slot in program.arg.params]
    loaded(chosen, (), program.arg.global_size, program.arg.local_size)
    return [b.numpy().view(a.dtype)[: a.size] for a, b in zip(buffers, storage, strict=True)]


def words(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.uint64)


def test_a_libc_function_returns_a_value() -> None:
    bit = foreign(POINTER, UOp.const(0x10), result=dtypes.int32)
    store = param(1, dtypes.int32).index(0).store(bit)
    _, out = run(store, buffers=[words(address_of(LIBC.ffs)), np.zeros(1, np.int32)])
    assert out[0] == 5


@pytest.mark.parametrize("dtype", C_TYPES, ids=lambda d: d.name)
def test_values_arrive_and_return_as_c_has_them(dtype: DType) -> None:
    """Also narrow integers, which C widens by their sign."""
    kind, value = C_TYPES[dtype], EXAMPLES[dtype.name]
    seen: list[Any] = []

    def callback(first: Any, second: int, third: Any) -> Any:
        seen.append((first, second, third))
        return first

    pointer = ctypes.CFUNCTYPE(kind, kind, ctypes.c_int64, kind)(callback)
    given = param(1, dtype).index(0).load()
    result = foreign(POINTER, given, UOp.const(-7, dtypes.int64), given, result=dtype)
    store = param(2, dtype).index(0).store(result)
    array = np.array([value], np.dtype(dtype.name))
    out = run(store, buffers=[words(address_of(pointer)), array, np.zeros_like(array)])[2]
    expected = kind(value).value
    assert seen == [(expected, -7, expected)]
    assert out[0] == array[0]


def test_storage_and_private_arrays_are_passed_by_address() -> None:
    scratch = UOp(Ops.BUFFER, (), BufferArg(0, dtypes.int32, 4, None, AddrSpace.REG))
    filled = scratch.after(scratch.index(0).store(UOp.const(42, dtypes.int32)))
    out = param(1, dtypes.int32)
    copied = foreign(POINTER, out, filled, UOp.const(4, dtypes.int64))
    _, result = run(copied, buffers=[words(address_of(LIBC.memcpy)), np.zeros(2, np.int32)])
    assert result.tolist() == [42, 0]


def test_calls_in_a_loop_run_in_order_with_the_stores_around_them() -> None:
    seen: list[int] = []
    cells = (ctypes.c_int64 * 4)()

    def callback(index: int, cell: int) -> None:
        seen.append((index, ctypes.c_int64.from_address(cell).value))

    pointer = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(callback)
    data = param(1, dtypes.int64)
    i = UOp.range(UOp.const(4, dtypes.int64), 0)
    stored = data.index(i).store(i * 10)
    where = UOp.param(2, dtypes.int64, (8,)).after(stored).index(0).load() + i * 8
    # the array is the callback's own, so that the address it reads is known before the run
    call = foreign(POINTER, i, where).end(i)
    device = Device["CPU"]
    program = compile_program(UOp.sink(call, arg=KernelInfo("t", ())), device.renderer)
    buffers = [
        Buffer("CPU", 1, dtypes.uint64).copyin(words(address_of(pointer)).tobytes()),
        Buffer("CPU", 4, dtypes.int64, opaque=_memory(cells)),
        Buffer("CPU", 1, dtypes.int64).copyin(words(ctypes.addressof(cells)).tobytes()),
    ]
    loaded = device.load_program(program.arg.name, program.src[3].arg, program.arg)
    loaded([b.opaque for b in buffers], (), (1, 1, 1), (1, 1, 1))
    assert seen == [(0, 0), (1, 10), (2, 20), (3, 30)]


def _memory(cells: Any) -> Any:
    from tg_cpu.allocator import CPUMemory

    return CPUMemory(ctypes.addressof(cells), ctypes.sizeof(cells), cells)


def test_the_pointer_of_each_call_may_differ() -> None:
    """What is called depends on the loop; the pointer is part of the graph around the call."""
    seen: list[str] = []
    kind = ctypes.CFUNCTYPE(None)

    def first() -> None:
        seen.append("first")

    def second() -> None:
        seen.append("second")

    functions = [kind(first), kind(second)]
    i = UOp.range(4, 0)
    pointer = param(0, dtypes.uint64).index(i % 2).load()
    run(foreign(pointer).end(i), buffers=[words(*[address_of(f) for f in functions])])
    assert seen == ["first", "second"] * 2


def test_what_a_call_cannot_take_is_an_error() -> None:
    value = param(1, dtypes.bfloat16).index(0).load()
    with pytest.raises(CompileError, match="bfloat16"):
        run(foreign(POINTER, value), buffers=[words(0), words(0)])


def test_structs_reach_c_as_bytes() -> None:
    """A struct is storage laid out by hand: `{u8 @0, u16 @2, u32 @4, u64 @8}`."""
    seen: list[bytes] = []

    def callback(data: int) -> None:
        seen.append(ctypes.string_at(data, 16))

    pointer = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(callback)
    raw = param(1, dtypes.uint8, 16)
    values = {0: (0x12, 1), 2: (0x3456, 2), 4: (0x789ABCDE, 4), 8: (0xFEDCBA9876543210, 8)}
    stores = [
        raw.index(offset + i).store(UOp.const(value >> 8 * i & 255, dtypes.uint8))
        for offset, (value, size) in values.items()
        for i in range(size)
    ]
    run(foreign(POINTER, raw.after(*stores)), buffers=[words(address_of(pointer)), words(0, 0)])
    assert struct.unpack("<BxHIQ", seen[0]) == (0x12, 0x3456, 0x789ABCDE, 0xFEDCBA9876543210)
