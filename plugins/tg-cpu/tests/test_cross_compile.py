"""Kernels compiled for processors that this machine need not be: LLVM takes them, and the
instructions are those of the processor.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pytest
from codegen_kernels import elementwise
from codegen_samples import SAMPLES

from tg_core.backend import Ops, UOp, dtypes
from tg_core.codegen import lower_kernel
from tg_cpu import jit, renderer_llvm
from tg_cpu.host import host
from tg_cpu.renderer_llvm import CPULLVMRenderer


@dataclass(frozen=True)
class Machine:
    """A processor, and what its code contains."""

    triple: str
    cpu: str
    features: str
    register: str
    """A vector register of full width."""
    multiply_add: str
    half_to_float: str
    float_to_half: str
    masked_store: str | None
    """None: there is none, lanes are stored one by one."""
    call: str
    """A call of a function."""


MACHINES = {
    "avx512": Machine(
        "x86_64-unknown-linux-gnu",
        "x86-64-v4",
        "+avx2,+fma,+f16c,+bmi2,+avx512f,+avx512bw,+avx512dq,+avx512vl",
        "%zmm",
        r"vfmadd\w+ps\s.*%zmm",
        r"vcvtph2ps",
        r"vcvtps2ph",
        r"vmovups\s.*\{%k\d\}",
        r"\bcallq?\s",
    ),
    "avx2": Machine(
        "x86_64-unknown-linux-gnu",
        "x86-64-v3",
        "+avx2,+fma,+f16c,+bmi2",
        "%ymm",
        r"vfmadd\w+ps\s.*%ymm",
        r"vcvtph2ps",
        r"vcvtps2ph",
        r"vmaskmovps",
        r"\bcallq?\s",
    ),
    "neon": Machine(
        "aarch64-unknown-linux-gnu",
        "neoverse-n1",
        "+neon,+fp-armv8",
        ".4s",
        r"fmla\s+v\d+\.4s",
        r"fcvtl2?\s",
        r"fcvtn2?\s",
        None,
        r"\bblr?\s",
    ),
}


@cache
def compiler(name: str) -> jit.Compiler:
    machine = MACHINES[name]
    return jit.Compiler(machine.cpu, machine.features, triple=machine.triple)


@pytest.fixture(params=MACHINES)
def name(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the host be another machine, and give its name."""
    chosen: str = request.param
    machine = MACHINES[chosen]
    other = host()._replace(triple=machine.triple, cpu=machine.cpu, features=machine.features)
    monkeypatch.setattr(renderer_llvm, "host", lambda: other)
    return chosen


def assembly(name: str, sink: UOp) -> str:
    """Return a kernel's machine code as text."""
    renderer = CPULLVMRenderer("")
    lowered = lower_kernel(sink, renderer)
    text = compiler(name).assembly(renderer.render(lowered.arg.name, lowered.src[1]))
    assert re.search(MACHINES[name].call, text) is None, "a kernel needs no library"
    return text


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_sample_compiles(name: str, sample: str) -> None:
    text = assembly(name, SAMPLES[sample](64, 96, 40).sink)
    assert len(text.splitlines()) > 10


@pytest.mark.parametrize("sample", ["matmul", "matmul_transposed", "convolution"])
def test_products_use_fused_instructions_of_full_width(name: str, sample: str) -> None:
    text = assembly(name, SAMPLES[sample](64, 96, 40).sink)
    machine = MACHINES[name]
    assert machine.register in text
    assert len(re.findall(machine.multiply_add, text)) >= 4


def test_halves_are_converted_by_instructions(name: str) -> None:
    half, single = dtypes.float16, dtypes.float32

    def widen(x: UOp) -> UOp:
        return UOp(Ops.CAST, (x,), single)

    def narrow(x: UOp) -> UOp:
        return UOp(Ops.CAST, (x,), half)

    text = assembly(name, elementwise(widen, 4096, half, output=single))
    assert re.search(MACHINES[name].half_to_float, text)
    text = assembly(name, elementwise(narrow, 4096, single, output=half))
    assert re.search(MACHINES[name].float_to_half, text)


def test_lanes_beyond_the_end_are_masked_by_instructions(name: str) -> None:
    masked = MACHINES[name].masked_store
    i = UOp.range(64, 0)
    lanes = CPULLVMRenderer("").vector_bytes // 4
    ramp = UOp(Ops.STACK, tuple(UOp.const(n, dtypes.int32) for n in range(lanes)))
    storage = UOp.param(0, dtypes.float32, (64 * lanes,))
    limit = UOp.variable("n", 0, lanes).cast(dtypes.int32)
    gate = UOp(Ops.CMPLT, (ramp, UOp(Ops.STACK, (limit,) * lanes)))
    target = UOp(Ops.INDEX, (storage, i * lanes), lanes)
    value = UOp(Ops.STACK, (UOp.const(1.5, dtypes.float32),) * lanes)
    store = UOp(Ops.STORE, (target, value, gate))
    text = assembly(name, UOp(Ops.SINK, (store.end(i),)))
    if masked is not None:
        assert re.search(masked, text)


def test_object_code_is_of_the_machine(name: str) -> None:
    renderer = CPULLVMRenderer("")
    lowered = lower_kernel(SAMPLES["add"](64, 0, 0).sink, renderer)
    code = compiler(name).compile(renderer.render(lowered.arg.name, lowered.src[1]))
    assert code[:4] == b"\x7fELF"
    # e_machine of the ELF header
    assert code[18] == {"x86_64": 62, "aarch64": 183}[MACHINES[name].triple.split("-")[0]]
