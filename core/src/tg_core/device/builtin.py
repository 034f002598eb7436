"""Core's own plugin: the device types that need nothing but Python and numpy.

It registers through the same hook as the plugin of any other package.
"""

from __future__ import annotations

from tg_core.plugins.capability import Capability
from tg_core.plugins.markers import HOOK_VERSION, hookimpl
from tg_core.plugins.registry import Registry

__all__ = ["TG_HOOK_VERSION", "tg_register"]

TG_HOOK_VERSION = HOOK_VERSION


@hookimpl
def tg_register(registry: Registry) -> None:
    """Register PYTHON, NULL, NPY and DISK."""
    host = "tg_core.device.host:HostAllocator"

    registry.device_type(
        "PYTHON",
        "tg_core.device.python:PythonDevice",
        priority=0,
        description="interpreter: defines the meaning of each op, slow",
    )
    registry.allocator("PYTHON", host)
    registry.renderer("PYTHON", "PYTHON", "tg_core.renderer.interpreter:InterpreterRenderer")
    registry.capability("PYTHON", Capability.PROGRAMS, Capability.HOST_VISIBLE, Capability.CREATION)

    registry.device_type(
        "NULL",
        "tg_core.device.null:NullDevice",
        priority=-1,
        description="compiles and runs nothing",
    )
    registry.allocator("NULL", "tg_core.device.null:NullAllocator")
    registry.renderer("NULL", "PYTHON", "tg_core.renderer.interpreter:InterpreterRenderer")
    registry.capability("NULL", Capability.PROGRAMS, Capability.DRY)

    registry.device_type(
        "NPY", "tg_core.device.npy:NpyDevice", priority=-2, description="numpy arrays"
    )
    registry.allocator("NPY", host)
    registry.capability("NPY", Capability.HOST_VISIBLE, Capability.CREATION)

    registry.device_type(
        "DISK", "tg_core.device.disk:DiskDevice", priority=-3, description="files: DISK:/path"
    )
    registry.allocator("DISK", "tg_core.device.disk:DiskAllocator")
    registry.capability("DISK", Capability.HOST_VISIBLE, Capability.CREATION, Capability.PERSISTENT)
