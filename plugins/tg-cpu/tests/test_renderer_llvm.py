"""What the renderer says about this machine."""

from __future__ import annotations

import pytest

from tg_core.backend import Device, DeviceNotFound, Ops, dtypes
from tg_cpu import jit, renderer_llvm
from tg_cpu.host import host
from tg_cpu.renderer_llvm import CPULLVMRenderer, host_level


def test_the_host_is_the_default() -> None:
    renderer = CPULLVMRenderer("")
    assert renderer == CPULLVMRenderer("native")
    assert renderer.key == CPULLVMRenderer("native").key
    assert renderer.vector_bytes in (16, 32, 64)
    assert renderer.has_threads
    assert not renderer.has_global
    assert jit.version() in renderer.key
    assert Device["CPU"].renderer == renderer


def pretend(monkeypatch: pytest.MonkeyPatch, features: set[str]) -> None:
    """Let the host have these features and no others."""
    other = host()._replace(features=",".join(f"+{name}" for name in sorted(features)))
    monkeypatch.setattr(renderer_llvm, "host", lambda: other)


@pytest.mark.parametrize(
    ("features", "vector_bytes", "fma", "half"),
    [
        ({"sse2"}, 16, False, False),
        ({"avx2", "fma", "f16c"}, 32, True, True),
        ({"avx2"}, 32, False, False),
        ({"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}, 64, True, True),
        ({"neon"}, 16, True, True),
    ],
)
def test_features_decide(
    monkeypatch: pytest.MonkeyPatch, features: set[str], vector_bytes: int, fma: bool, half: bool
) -> None:
    pretend(monkeypatch, features)
    level = host_level()
    assert (level.vector_bytes, level.has_fma, level.has_half) == (vector_bytes, fma, half)
    renderer = CPULLVMRenderer("")
    assert renderer.vector_bytes == vector_bytes
    assert (Ops.MULACC in renderer.native_ops) == fma
    assert (dtypes.float16 in renderer.native_dtypes) == half
    assert dtypes.bfloat16 in renderer.storage_dtypes


def test_unknown_architecture_lists_the_known_ones() -> None:
    with pytest.raises(DeviceNotFound, match="no architecture 'z80'; architectures: native"):
        CPULLVMRenderer("z80")


def test_a_level_beyond_the_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not jit.host()[0].startswith("x86_64"):
        pytest.skip("levels are those of x86-64")
    pretend(monkeypatch, {"sse2"})
    with pytest.raises(DeviceNotFound, match="x86-64-v3 needs avx2"):
        CPULLVMRenderer("x86-64-v3")


def test_a_named_level_compiles_for_it() -> None:
    if not jit.host()[0].startswith("x86_64"):
        pytest.skip("levels are those of x86-64")
    source = "define <8 x float> @f(<8 x float> %x) {\n"
    source += "  %y = fadd <8 x float> %x, %x\n  ret <8 x float> %y\n}\n"
    assert "ymm" not in CPULLVMRenderer("x86-64").assembly(source)
    if "avx2" in jit.host_features():
        assert "ymm" in CPULLVMRenderer("").assembly(source)
