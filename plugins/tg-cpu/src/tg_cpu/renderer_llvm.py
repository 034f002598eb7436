"""LLVM IR for this machine's processor."""

from __future__ import annotations

from typing import NamedTuple

from tg_core.backend import (
    LLVM_DTYPES,
    LLVM_OPS,
    DeviceNotFound,
    LLVMRenderer,
    Ops,
    Target,
    dtypes,
)
from tg_cpu.host import host

SCRATCH_BYTES = 1 << 19
"""Stack that one thread may use for LOCAL buffers: what a second-level cache holds, and a small
part of a thread's stack.
"""


class Level(NamedTuple):
    """What an instruction set level gives the code generator."""

    vector_bytes: int
    registers: int
    needs: frozenset[str] = frozenset()
    """Features of the host without which code of this level cannot run."""
    has_fma: bool = False
    has_half: bool = False
    """Whether halves are converted by instructions."""


LEVELS = {
    "x86-64": Level(16, 16),
    "x86-64-v2": Level(16, 16, frozenset(("sse4.2", "ssse3", "popcnt"))),
    "x86-64-v3": Level(32, 16, frozenset(("avx2", "fma", "f16c", "bmi2")), True, True),
    "x86-64-v4": Level(64, 32, frozenset(("avx512f", "avx512bw", "avx512vl")), True, True),
}
"""The levels a user may name in `DEV=CPU:LLVM:x86-64-v3`; the default is all the host has.

Source: x86-64 psABI, table "Micro-architecture levels".
"""


def host_level() -> Level:
    """Return what the host's own features give."""
    features = host().feature_names
    if "neon" in features:
        return Level(16, 32, has_fma=True, has_half=True)
    half, fma = "f16c" in features, "fma" in features
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        return Level(64, 32, has_fma=True, has_half=True)
    if "avx2" in features:
        return Level(32, 16, has_fma=fma, has_half=half)
    return Level(16, 16, has_fma=fma, has_half=half)


class CPULLVMRenderer(LLVMRenderer):
    """Renders for the host or for an x86-64 level, and compiles with `llvmlite`.

    Args:
        arch: a name of `LEVELS`; the empty string and `native` stand for the host.

    Raises:
        DeviceNotFound: the level is unknown, or the host cannot run it.
    """

    def __init__(self, arch: str = "") -> None:
        triple, cpu, features, _ = host()
        family = triple.split("-")[0]
        name = arch.lower()
        if name in ("", "native"):
            level, target = host_level(), Target(f"{family}-{cpu}", tuple(features.split(",")))
        else:
            level, cpu = _named_level(name, family), name
            target = Target(name)
        floats = {dtypes.float32, dtypes.float64}
        if level.has_half:
            floats.add(dtypes.float16)
        computed = frozenset((dtypes.bool, *dtypes.ints, *floats)) & LLVM_DTYPES
        self.cpu = cpu
        """LLVM's name of the processor, which the target is named after."""
        super().__init__(
            device_type="CPU",
            name="LLVM",
            target=target,
            vector_bytes=level.vector_bytes,
            registers=level.registers,
            has_threads=True,
            shared_bytes=SCRATCH_BYTES,
            native_ops=LLVM_OPS if level.has_fma else LLVM_OPS - {Ops.MULACC},
            native_dtypes=computed,
            storage_dtypes=computed | {dtypes.bfloat16},
            has_masked_access=True,
            index_bits=64,
        )

    @property
    def version(self) -> str:
        return f"{super().version}/{host().compiler}"

    def compile(self, source: str) -> bytes:
        from tg_cpu import jit

        return jit.compiler(self.cpu, ",".join(self.target.features)).compile(source)

    def assembly(self, source: str) -> str:
        """Return the assembly text of a source, for people."""
        from tg_cpu import jit

        return jit.compiler(self.cpu, ",".join(self.target.features)).assembly(source)


def _named_level(name: str, family: str) -> Level:
    level = LEVELS.get(name) if family == "x86_64" else None
    if level is None:
        known = ", ".join(("native", *LEVELS)) if family == "x86_64" else "native"
        raise DeviceNotFound(f"CPU: no architecture {name!r}; architectures: {known}")
    missing = level.needs - host().feature_names
    if missing:
        raise DeviceNotFound(f"CPU: {name} needs {', '.join(sorted(missing))}, not on this machine")
    return level
