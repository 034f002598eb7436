"""What tg-core finds: registers the CPU and its parts by reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.backend import Capability, NeedsModule, hookimpl
from tg_cpu import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.backend import Registry

__all__ = ["TG_HOOK_VERSION", "settings", "tg_register", "tg_report_header"]

TG_HOOK_VERSION = (1, 0)

PRIORITY = 10
"""Above the interpreter, below any accelerator."""


@hookimpl
def tg_register(registry: Registry) -> None:
    """Register the device type CPU, its allocator and its LLVM renderer."""
    registry.device_type(
        "CPU",
        "tg_cpu.device:CPUDevice",
        priority=PRIORITY,
        description="this machine's processor: LLVM kernels on a native thread pool",
        needs=(NeedsModule("llvmlite"),),
    )
    registry.allocator("CPU", "tg_cpu.allocator:CPUAllocator")
    registry.renderer("CPU", "LLVM", "tg_cpu.renderer_llvm:CPULLVMRenderer")
    registry.capability(
        "CPU",
        Capability.PROGRAMS,
        Capability.HOST_VISIBLE,
        Capability.HOST_CALL,
        Capability.TIMESTAMPS,
    )


@hookimpl
def tg_report_header() -> Sequence[str]:
    """Return the compiler, the processor and the number of threads."""
    from tg_cpu import jit

    triple, cpu, _ = jit.host()
    return (
        f"tg-cpu: {jit.version()} for {cpu} ({triple})",
        f"tg-cpu: {settings.thread_count()} threads",
    )
