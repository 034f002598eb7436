"""Host programs call the C library."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.errors import CompileError, DeviceError
from tg_core.hcq.external import (
    CFunction,
    HostProgram,
    ccall,
    constant_bytes,
    host_storage,
    provide_functions,
    when,
)
from tg_core.hcq.external.functions import function_address
from tg_core.renderer.interpreter import InterpreterRenderer
from tg_core.uop.ops import KernelInfo, UOp

STRLEN = CFunction("strlen", ctypes.c_size_t, (ctypes.c_char_p,))
SNPRINTF = CFunction(
    "snprintf",
    ctypes.c_int,
    (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p),
    variadic=True,
)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

OUT = host_storage(("host", "out"), dtypes.int64, 8)
TEXT = host_storage(("host", "text"), dtypes.uint8, 128)


def run(*effects: UOp, **storage: np.ndarray) -> list[np.ndarray]:
    """Run effects on the runtime device; returns the arrays afterwards."""
    nodes = {"out": OUT, "text": TEXT}
    buffers = [
        Buffer("CPU", array.nbytes, dtypes.uint8).copyin(array.tobytes())
        for array in storage.values()
    ]
    given = {nodes[name]: buffer for name, buffer in zip(storage, buffers)}
    HostProgram(effects, given)()
    arrays = storage.values()
    return [b.numpy().view(a.dtype)[: a.size] for a, b in zip(arrays, buffers)]


def words(count: int = 8) -> np.ndarray:
    return np.full(count, -1, np.int64)


def put(index: int, value: UOp, *after: UOp) -> UOp:
    target = OUT.after(*after) if after else OUT
    return target.index(UOp.const(index)).store(value.cast(dtypes.int64))


def test_a_text_is_passed_by_address() -> None:
    (out,) = run(put(0, ccall(STRLEN, b"twelve chars\0")), out=words())
    assert out[0] == 12


def test_storage_is_passed_by_address_and_numbers_as_declared() -> None:
    text = np.frombuffer(b"seven..\0" * 16, np.uint8)
    ffs = CFunction("ffs", ctypes.c_int, (ctypes.c_int,))
    labs = CFunction("labs", ctypes.c_long, (ctypes.c_long,))
    effects = [
        put(0, ccall(STRLEN, TEXT)),
        put(1, ccall(ffs, 0x10)),
        put(2, ccall(labs, -(1 << 40))),
        put(3, ccall(CFunction("abs", ctypes.c_int, (ctypes.c_int,)), UOp.const(-3, dtypes.int8))),
    ]
    out, _ = run(*effects, out=words(), text=text)
    assert out[:4].tolist() == [7, 5, 1 << 40, 3]


def test_a_variadic_function_takes_integers_and_floats_as_c_promotes_them() -> None:
    value = UOp.const(2.5, dtypes.float32)
    narrow = UOp.const(200, dtypes.uint8)
    written = ccall(
        SNPRINTF, TEXT, 128, b"%d %s %.2f %ld %g %d\0", -7, b"abc\0", value, 1 << 40, 0.125, narrow
    )
    out, text = run(put(0, written), out=words(), text=np.zeros(128, np.uint8))
    expected = b"-7 abc 2.50 1099511627776 0.125 200"
    assert out[0] == len(expected)
    assert bytes(text[: len(expected) + 1]) == expected + b"\0"


def test_the_c_library_calls_back_into_this_process() -> None:
    asked: list[tuple[int, int]] = []

    def compare(a: object, b: object) -> int:
        left, right = a[0], b[0]
        asked.append((left, right))
        return (left > right) - (left < right)

    provide_functions("tests", {"compare": COMPARE(compare)})
    qsort = CFunction(
        "qsort", None, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
    )
    address = UOp.const(function_address("tests", "compare"), dtypes.uint64)
    numbers = np.array([5, -3, 9, 0, 7, -8, 2, 1], np.int32)
    given = np.frombuffer(numbers.tobytes().ljust(128, b"\0"), np.uint8)
    (text,) = run(ccall(qsort, TEXT, 8, 4, address), text=given)
    assert text.view(np.int32)[:8].tolist() == sorted(numbers.tolist())
    assert asked


def test_provided_functions_are_called_by_their_name() -> None:
    seen: list[int] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

    def twice(value: int) -> int:
        seen.append(value)
        return 2 * value

    provide_functions("tests", {"twice": kind(twice)})
    function = CFunction("twice", ctypes.c_int, (ctypes.c_int,), library="tests")
    first = put(0, ccall(function, 21))
    # the second call has the first one's result
    second = put(1, ccall(function, OUT.after(first).index(UOp.const(0)).load()), first)
    (out,) = run(second, out=words())
    assert (out[:2].tolist(), seen) == ([42, 84], [21, 42])


def test_a_call_may_depend_on_a_condition() -> None:
    calls: list[int] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int)
    provide_functions("tests", {"note": kind(calls.append)})
    note = CFunction("note", None, (ctypes.c_int,), library="tests")
    first = OUT.index(UOp.const(0)).load()
    effects = [when(first.eq(i), ccall(note, i), i) for i in range(3)]
    run(*effects, out=np.ones(8, np.int64))
    assert calls == [1]


def test_what_does_not_exist_or_fit_is_an_error() -> None:
    with pytest.raises(CompileError, match="ccall strlen: 2 arguments, expected 1"):
        ccall(STRLEN, b"a\0", 1)
    with pytest.raises(CompileError, match="ccall snprintf: 2 arguments, expected 3"):
        ccall(SNPRINTF, TEXT, 1)
    with pytest.raises(CompileError, match="storage where"):
        ccall(CFunction("ffs", ctypes.c_int, (ctypes.c_int,)), TEXT)
    missing = CFunction("no_such_function", None, ())
    with pytest.raises(DeviceError, match="no function no_such_function in this process"):
        HostProgram([ccall(missing)], {})
    with pytest.raises(DeviceError, match=r"no function f in /no/such/library\.so"):
        HostProgram([ccall(CFunction("f", None, (), library="/no/such/library.so"))], {})
    with pytest.raises(CompileError, match="no memory is known for host_out"):
        HostProgram([put(0, UOp.const(1))], {})


def test_equal_bytes_are_one_memory() -> None:
    assert constant_bytes(b"x\0") is constant_bytes(b"x\0")
    assert constant_bytes(b"x\0") is not constant_bytes(b"y\0")


def interpret(*effects: UOp, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Run effects over numbered parameters with the interpreter."""
    program = compile_program(UOp.sink(*effects, arg=KernelInfo("t", ())), InterpreterRenderer())
    memory = [bytearray(a.tobytes()) for a in arrays]
    loaded = Device["PYTHON"].load_program("t", program.src[3].arg, program.arg)
    loaded([memory[slot] for slot in program.arg.params])
    return [np.frombuffer(m, a.dtype) for m, a in zip(memory, arrays)]


def test_the_interpreter_calls_c_too() -> None:
    pointers = UOp.param(0, dtypes.uint64, (2,))
    text, out = UOp.param(1, dtypes.uint8, (128,)), UOp.param(2, dtypes.int64, (8,))
    cells = {
        ("cfunc", "", name): pointers.index(UOp.const(i)).load()
        for i, name in enumerate(("snprintf", "strlen"))
    }

    def bound(call: UOp) -> UOp:
        pointer = call.src[0].src[0]
        return call.substitute({pointer: cells[pointer.src[0].src[0].tag]})

    i = UOp.range(UOp.const(3, dtypes.int64), 0)
    form = UOp.param(3, dtypes.uint8, (16,))
    written = bound(ccall(SNPRINTF, text, 128, form, i * 100, UOp.const(0.5, dtypes.float64)))
    length = bound(ccall(STRLEN, text.after(out.index(i).store(written.cast(dtypes.int64)))))
    stored = out.index(i + 3).store(length.cast(dtypes.int64)).end(i)
    addresses = [function_address("", name) for name in ("snprintf", "strlen")]
    arrays = [
        np.array(addresses, np.uint64),
        np.zeros(128, np.uint8),
        words(),
        np.frombuffer(b"%ld and %.1f\0".ljust(16, b"\0"), np.uint8),
    ]
    _, after, results, _ = interpret(stored, arrays=arrays)
    assert results[:6].tolist() == [9, 11, 11, 9, 11, 11]
    assert bytes(after[:12]) == b"200 and 0.5\0"
