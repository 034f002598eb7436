"""Text of calls through pointers; tg-cpu's tests run them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tg_core.dtype import DType, dtypes
from tg_core.errors import CompileError
from tg_core.renderer.api import ARITHMETIC_OPS, Target
from tg_core.renderer.cstyle import CStyleRenderer
from tg_core.renderer.cstyle.names import C_TYPES
from tg_core.renderer.llvm_ir import LLVM_DTYPES, LLVM_OPS, LLVMRenderer
from tg_core.uop.ops import Ops, UOp

LLVM = LLVMRenderer(
    device_type="TEST",
    name="LLVM",
    target=Target("any"),
    native_ops=LLVM_OPS,
    native_dtypes=LLVM_DTYPES,
)
C = CStyleRenderer(
    device_type="TEST",
    name="C",
    target=Target("any"),
    native_ops=ARITHMETIC_OPS,
    native_dtypes=frozenset(C_TYPES),
)
ZERO = UOp.const(0, dtypes.int32)


def param(slot: int, dtype: DType) -> UOp:
    return UOp.param(slot, dtype, (8,))


def call(*args: UOp, result: DType | None = None, pointer: int = 4096) -> UOp:
    function = UOp(Ops.CUSTOM_FUNCTION, (UOp.const(pointer, dtypes.uint64),), "f")
    if result is not None:
        function = function.replace(arg=("f", result))
    return UOp.call(function, *args)


def linear(*effects: UOp) -> UOp:
    return UOp(Ops.LINEAR, tuple(UOp.sink(*effects).toposort()[:-1]))


def line(*args: UOp, result: DType | None = None) -> str:
    """Return the instruction of a call."""
    text = LLVM.render("k", linear(call(*args, result=result)))
    (found,) = [x.strip() for x in text.splitlines() if "call" in x]
    return found.split("call ")[1]


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (dtypes.bool, "i1 zeroext true"),
        (dtypes.int8, "i8 signext 1"),
        (dtypes.uint8, "i8 zeroext 1"),
        (dtypes.int16, "i16 signext 1"),
        (dtypes.uint16, "i16 zeroext 1"),
        (dtypes.int32, "i32 1"),
        (dtypes.uint64, "i64 1"),
        (dtypes.float64, "double 0x3FF0000000000000"),
    ],
)
def test_narrow_integers_are_widened_by_their_sign(dtype: DType, text: str) -> None:
    assert line(UOp.const(1, dtype)).split("(")[1] == f"{text})"


def test_results_and_storage() -> None:
    assert line(result=dtypes.int16).startswith("signext i16 %v")
    assert line(result=dtypes.float32).startswith("float %v")
    assert line().startswith("void %v")
    private = UOp.register(4, dtypes.int32, 0)
    found = line(param(0, dtypes.float32), private)
    assert found.count("ptr %") == 2


@pytest.mark.parametrize("renderer", [LLVM, C], ids=["LLVM", "C"])
def test_vectors_and_bfloat16_are_no_c_arguments(renderer: Any) -> None:
    vector = UOp.stack_of(ZERO, ZERO)
    with pytest.raises(CompileError):
        renderer.render("k", linear(call(vector)))
    with pytest.raises(CompileError):
        renderer.render("k", linear(call(UOp.const(1.0, dtypes.bfloat16))))


@pytest.mark.parametrize("renderer", [LLVM, C], ids=["LLVM", "C"])
def test_a_function_needs_its_pointer(renderer: Any) -> None:
    bare = UOp.call(UOp(Ops.CUSTOM_FUNCTION, (), "f"))
    with pytest.raises(CompileError, match="function with its pointer"):
        renderer.render("k", linear(bare))


def test_c_calls_a_cast_pointer() -> None:
    text = C.render("k", linear(call(param(0, dtypes.float32), ZERO, result=dtypes.uint8)))
    assert "((unsigned char (*)(float *, int))" in text
    assert ")(data0, 0);" in text
    assert "((void (*)(void))" in C.render("k", linear(call()))


def test_compiled_c_calls_back(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    seen: list[tuple[int, float]] = []

    def callback(number: int, value: float) -> int:
        seen.append((number, value))
        return number - 1

    pointer = ctypes.CFUNCTYPE(ctypes.c_int16, ctypes.c_int16, ctypes.c_double)(callback)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    assert address is not None
    arguments = UOp.const(-5, dtypes.int16), UOp.const(0.5, dtypes.float64)
    result = call(*arguments, result=dtypes.int16, pointer=address)
    store = param(0, dtypes.int16).index(ZERO).store(result)
    source, library = tmp_path / "k.c", tmp_path / "k.so"
    source.write_text(C.render("k", linear(store)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    out = np.zeros(8, np.int16)
    slots = np.array([out.ctypes.data], np.int64)
    ctypes.CDLL(str(library)).k(ctypes.c_void_p(slots.ctypes.data), ctypes.c_int64(0))
    assert seen == [(-5, 0.5)]
    assert out[0] == -6


def test_variadic_functions_are_called_as_such() -> None:
    function = UOp(Ops.CUSTOM_FUNCTION, (UOp.const(4096, dtypes.uint64),), ("f", dtypes.int32, 1))
    arguments = (param(0, dtypes.uint8), UOp.const(7, dtypes.int32))
    made = linear(UOp.call(function, *arguments))
    assert "i32 (ptr, ...) %" in LLVM.render("k", made)
    assert "((int (*)(unsigned char *, ...))" in C.render("k", made)
