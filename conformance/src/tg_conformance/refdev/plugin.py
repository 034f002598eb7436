"""What core finds: the device type REF and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.backend import Capability, hookimpl

if TYPE_CHECKING:
    from tg_core.backend import Compiled, QueueDescription, Registry

__all__ = ["TG_HOOK_VERSION", "create_queue", "tg_register"]

TG_HOOK_VERSION = (1, 0)


@hookimpl
def tg_register(registry: Registry) -> None:
    """Register REF."""
    registry.device_type(
        "REF",
        "tg_conformance.refdev.device:RefDevice",
        priority=-1,
        description="software accelerator with queues, the worked example of a backend",
    )
    registry.interface("REF", "SOFT", "tg_conformance.refdev.emulated:EmulatedRef")
    registry.allocator("REF", "tg_conformance.refdev.memory:RefAllocator")
    registry.renderer("REF", "PYTHON", "tg_core.backend:InterpreterRenderer")
    registry.renderer("REF", "NATIVE", "tg_conformance.refdev.kernels:NativeRenderer")
    registry.queue("REF", "COMPUTE", "tg_conformance.refdev.encoder:RefComputeQueue")
    registry.queue("REF", "COPY", "tg_conformance.refdev.encoder:RefCopyQueue")
    registry.capability(
        "REF",
        Capability.PROGRAMS,
        Capability.QUEUES,
        Capability.COPY_QUEUE,
        Capability.RECOVERY,
        Capability.TIMESTAMPS,
    )


@hookimpl
def create_queue(
    device: Compiled, kind: str, index: int, ring_bytes: int
) -> QueueDescription | None:
    """Make a queue of a REF device."""
    from tg_conformance.refdev.device import RefDevice

    return device.create_queue(kind, index, ring_bytes) if isinstance(device, RefDevice) else None
