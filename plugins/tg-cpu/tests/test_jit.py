"""Compilation through LLVM: what it refuses, and what it returns."""

from __future__ import annotations

import ctypes
import gc
import threading

import pytest

from tg_core.backend import CompileError
from tg_cpu import jit

ADD = """
define i64 @add(i64 %a, i64 %b) {
  %c = add i64 %a, %b
  ret i64 %c
}
"""


def test_object_code_links_and_runs() -> None:
    binary = jit.compiler().compile(ADD)
    assert binary[:4] == b"\x7fELF"
    library = jit.linker().link(binary, ("add",))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        library.addresses["add"]
    )
    gc.collect()
    assert function(40, 2) == 42


def test_the_same_object_links_many_times() -> None:
    binary = jit.compiler().compile(ADD)
    libraries = [jit.linker().link(binary, ("add",)) for _ in range(3)]
    assert len({library.addresses["add"] for library in libraries}) == 3


def test_object_code_is_reproducible() -> None:
    assert jit.compiler().compile(ADD) == jit.compiler().compile(ADD)


def test_text_that_does_not_parse_is_an_error_with_the_line() -> None:
    broken = ADD.replace("add i64 %a, %b", "add i64 %a, %missing")
    with pytest.raises(CompileError) as caught:
        jit.compiler().compile(broken)
    assert "%missing" in str(caught.value)
    assert "3 |   %c = add i64 %a, %missing" in str(caught.value)


def test_module_that_is_not_well_formed_is_an_error_not_a_crash() -> None:
    broken = """
define i64 @f(i1 %c) {
entry:
  br i1 %c, label %then, label %after
then:
  %x = add i64 1, 2
  br label %after
after:
  ret i64 %x
}
"""
    with pytest.raises(CompileError, match="dominate"):
        jit.compiler().compile(broken)


def test_bytes_that_are_no_object_are_an_error() -> None:
    with pytest.raises(CompileError, match="cannot link add"):
        jit.linker().link(b"no object", ("add",))


def test_a_missing_symbol_is_an_error() -> None:
    with pytest.raises(CompileError, match="cannot link sub"):
        jit.linker().link(jit.compiler().compile(ADD), ("sub",))


def test_an_unresolved_reference_is_an_error() -> None:
    source = "declare void @no_such_function()\ndefine void @f() {\n"
    source += "  call void @no_such_function()\n  ret void\n}\n"
    with pytest.raises(CompileError, match="cannot link f"):
        jit.linker().link(jit.compiler().compile(source), ("f",))


def test_compiling_from_several_threads() -> None:
    results: list[int] = []

    def work(number: int) -> None:
        source = ADD.replace("add i64 %a, %b", f"add i64 %a, {number}")
        library = jit.linker().link(jit.compiler().compile(source), ("add",))
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        results.append(function(library.addresses["add"])(0, 0))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(6))


def test_assembly_is_for_people() -> None:
    assert "add:" in jit.compiler().assembly(ADD)


def test_version_names_llvm() -> None:
    assert jit.version().startswith("llvm-")


def long_source() -> str:
    """Return a module long enough for the short pipeline: sums in a private array."""
    lines = ["define <4 x float> @f(<4 x float> %x) {", "  %a = alloca <4 x float>, align 16"]
    lines.append("  store <4 x float> %x, ptr %a, align 16")
    for i in range(jit.LONG_SOURCE // 80):
        lines.append(f"  %l{i} = load <4 x float>, ptr %a, align 16")
        lines.append(f"  %s{i} = fadd <4 x float> %l{i}, %x")
        lines.append(f"  store <4 x float> %s{i}, ptr %a, align 16")
    lines.append("  %r = load <4 x float>, ptr %a, align 16\n  ret <4 x float> %r\n}")
    return "\n".join(lines)


def test_a_long_module_keeps_private_arrays_in_registers() -> None:
    source = long_source()
    assert len(source) >= jit.LONG_SOURCE
    assembly = jit.compiler().assembly(source)
    assert "rsp" not in assembly
    assert "[sp" not in assembly


def test_options_of_the_process_are_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[str] = []
    monkeypatch.setattr(jit.llvm, "set_option", lambda _name, option: options.append(option))
    with jit._plain_addresses(), jit._plain_addresses():
        assert options == ["-disable-lsr=true"]
    assert options == ["-disable-lsr=true", "-disable-lsr=false"]
