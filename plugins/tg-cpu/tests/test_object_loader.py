"""Loading object files without LLVM, beside LLVM's own linker."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from tg_cpu import jit
from tg_cpu.load import load_object
from tg_cpu.object_loader import LoadedObject, UnsupportedObject

pytestmark = pytest.mark.skipif(
    not jit.host()[0].startswith("x86_64") or sys.platform != "linux",
    reason="the loader knows x86-64 on Linux",
)

SOURCE = """
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
@count = internal global i64 5
@zeroed = internal global [100 x i64] zeroinitializer
declare double @cos(double)
declare ptr @memset(ptr, i32, i64)
define i32 @pick(i64 %i) {
  %p = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
  %v = load i32, ptr %p
  ret i32 %v
}
define i64 @next() {
  %v = load i64, ptr @count
  %n = add i64 %v, 1
  store i64 %n, ptr @count
  %z = load i64, ptr getelementptr ([100 x i64], ptr @zeroed, i64 0, i64 99)
  %r = add i64 %n, %z
  ret i64 %r
}
define double @cosine(double %x) {
  %v = call double @cos(double %x)
  ret double %v
}
define void @fill(ptr %p) {
  call ptr @memset(ptr %p, i32 7, i64 16)
  ret void
}
"""
SYMBOLS = ("pick", "next", "cosine", "fill")


@pytest.fixture(scope="module")
def binary() -> bytes:
    return jit.compiler().compile(SOURCE)


def function(loaded: LoadedObject, name: str, result: type, *arguments: type) -> ctypes._CFuncPtr:
    return ctypes.CFUNCTYPE(result, *arguments)(loaded.addresses[name])


def test_constants_variables_and_calls_of_the_process(binary: bytes) -> None:
    loaded = LoadedObject(binary, SYMBOLS)
    pick = function(loaded, "pick", ctypes.c_int32, ctypes.c_int64)
    assert [pick(i) for i in range(4)] == [10, 20, 30, 40]
    following = function(loaded, "next", ctypes.c_int64)
    assert [following(), following()] == [6, 7]
    assert function(loaded, "cosine", ctypes.c_double, ctypes.c_double)(0.0) == 1.0
    data = ctypes.create_string_buffer(17)
    function(loaded, "fill", None, ctypes.c_void_p)(ctypes.addressof(data))
    assert data.raw == b"\7" * 16 + b"\0"


def test_two_loads_do_not_share_variables(binary: bytes) -> None:
    first, second = (LoadedObject(binary, SYMBOLS) for _ in range(2))
    assert function(first, "next", ctypes.c_int64)() == 6
    assert function(second, "next", ctypes.c_int64)() == 6


def test_code_is_not_writable(binary: bytes) -> None:
    address = LoadedObject(binary, SYMBOLS).addresses["pick"]
    loaded = LoadedObject(binary, SYMBOLS)
    address = loaded.addresses["pick"]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            assert line.split()[1].startswith("r-x")


def test_a_missing_function_is_named(binary: bytes) -> None:
    with pytest.raises(UnsupportedObject, match="nosuch"):
        LoadedObject(binary, ("nosuch",))


def test_damaged_files_are_refused(binary: bytes) -> None:
    with pytest.raises(UnsupportedObject):
        LoadedObject(b"", SYMBOLS)
    for end in range(0, len(binary), 61):
        with pytest.raises(UnsupportedObject):
            LoadedObject(binary[:end], SYMBOLS)


def test_what_it_does_not_know_goes_to_the_linker() -> None:
    source = "@word = external global i64\ndefine i64 @f() {\n %v = load i64, ptr @word\n ret i64 %v\n}\n"
    with pytest.raises(UnsupportedObject):
        LoadedObject(jit.compiler().compile(source), ("f",))
    plain = jit.compiler().compile("define i64 @f() {\n ret i64 3\n}\n")
    loaded = load_object(plain, ("f",))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.addresses["f"])() == 3


def test_a_second_process_imports_no_compiler(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from tg_core import Tensor\n"
        "a = Tensor([[1.0, 2.0], [3.0, 4.0]], device='CPU')\n"
        "print((a @ a).relu().sum().item(), 'llvmlite' in sys.modules)\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"TG_CACHE_DIR": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert outputs == [["54.0", "True"], ["54.0", "False"]]
