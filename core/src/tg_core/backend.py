"""All that a backend may import of core, and all that the hook version covers.

A plugin imports from here and from no other module of core. Within a major version of the hook
specification, names are only ever added.

The shared languages of renderers are loaded when they are first asked for: a plugin module imports
this one at discovery, when nothing is to be rendered yet.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tg_core.config import DEBUG, Context, ContextVar
from tg_core.device import (
    Allocator,
    Buffer,
    BufferOptions,
    Compiled,
    Device,
    HostAllocator,
    OpenRequest,
    Program,
    copy_buffer,
    host_memory_bytes,
)
from tg_core.dtype import DType, dtypes, promote, to_dtype, truncate
from tg_core.errors import (
    CompileError,
    DeviceError,
    DeviceNotFound,
    DTypeError,
    OutOfMemory,
    PluginError,
    SpecError,
    TGError,
)
from tg_core.plugins import (
    Capability,
    Need,
    NeedsModule,
    NeedsPath,
    NeedsSystem,
    Registry,
)
from tg_core.plugins.markers import HOOK_VERSION, hookimpl
from tg_core.support.disk_cache import DiskCache
from tg_core.uop.ops import (
    AddrSpace,
    AxisType,
    BufferArg,
    CallInfo,
    Estimates,
    GroupOp,
    Invalid,
    KernelInfo,
    Ops,
    ParamArg,
    PatternMatcher,
    ProgramInfo,
    UOp,
    UPat,
    graph_rewrite,
    sint,
)

if TYPE_CHECKING:
    from tg_core.device.interpreter import InterpreterProgram
    from tg_core.device.queues import (
        HCQAllocator,
        HCQBuffer,
        HCQCompiled,
        HCQProgram,
        HWQueue,
        Launch,
        Stream,
        Word,
    )
    from tg_core.hcq.external import (
        CFunction,
        HostProgram,
        address_value,
        ccall,
        cstruct,
        host_storage,
        linked_value,
        provide_functions,
        when,
    )
    from tg_core.plugins import QueueDescription
    from tg_core.renderer import Renderer, Target
    from tg_core.renderer.interpreter import InterpreterRenderer
    from tg_core.renderer.llvm_ir import LLVM_DTYPES, LLVM_OPS, LLVMRenderer
    from tg_core.support.emulation import (
        AccessFault,
        AddressSpace,
        DriverFile,
        EmulatedFile,
        EmulatedQueue,
        EmulatedSystem,
        EmulationFault,
        EventFile,
        FaultReport,
        HostWatch,
        Ioctl,
        Machine,
        PacketFault,
        RaceDetector,
        RaceFault,
        Register,
        RegisterFile,
        RegisterView,
        Rights,
        refuse,
    )
    from tg_core.support.ioctl import Direction, ioctl_request
    from tg_core.support.mmio import MMIOView, WordView
    from tg_core.support.os_port import LinuxPort, OSPort

__all__ = [
    "DEBUG",
    "HOOK_VERSION",
    "LLVM_DTYPES",
    "LLVM_OPS",
    "AccessFault",
    "AddrSpace",
    "AddressSpace",
    "Allocator",
    "AxisType",
    "Buffer",
    "BufferArg",
    "BufferOptions",
    "CFunction",
    "CallInfo",
    "Capability",
    "CompileError",
    "Compiled",
    "Context",
    "ContextVar",
    "DType",
    "DTypeError",
    "Device",
    "DeviceError",
    "DeviceNotFound",
    "Direction",
    "DiskCache",
    "DriverFile",
    "EmulatedFile",
    "EmulatedQueue",
    "EmulatedSystem",
    "EmulationFault",
    "Estimates",
    "EventFile",
    "FaultReport",
    "GroupOp",
    "HCQAllocator",
    "HCQBuffer",
    "HCQCompiled",
    "HCQProgram",
    "HWQueue",
    "HostAllocator",
    "HostProgram",
    "HostWatch",
    "InterpreterProgram",
    "InterpreterRenderer",
    "Invalid",
    "Ioctl",
    "KernelInfo",
    "LLVMRenderer",
    "Launch",
    "LinuxPort",
    "MMIOView",
    "Machine",
    "Need",
    "NeedsModule",
    "NeedsPath",
    "NeedsSystem",
    "OSPort",
    "OpenRequest",
    "Ops",
    "OutOfMemory",
    "PacketFault",
    "ParamArg",
    "PatternMatcher",
    "PluginError",
    "Program",
    "ProgramInfo",
    "QueueDescription",
    "RaceDetector",
    "RaceFault",
    "Register",
    "RegisterFile",
    "RegisterView",
    "Registry",
    "Renderer",
    "Rights",
    "SpecError",
    "Stream",
    "TGError",
    "Target",
    "UOp",
    "UPat",
    "Word",
    "WordView",
    "address_value",
    "ccall",
    "copy_buffer",
    "cstruct",
    "dtypes",
    "graph_rewrite",
    "hookimpl",
    "host_memory_bytes",
    "host_storage",
    "ioctl_request",
    "linked_value",
    "promote",
    "provide_functions",
    "refuse",
    "sint",
    "to_dtype",
    "truncate",
    "when",
]

_LAZY = {
    "AccessFault": "tg_core.support.emulation",
    "AddressSpace": "tg_core.support.emulation",
    "CFunction": "tg_core.hcq.external",
    "Direction": "tg_core.support.ioctl",
    "DriverFile": "tg_core.support.emulation",
    "EmulatedFile": "tg_core.support.emulation",
    "EmulatedQueue": "tg_core.support.emulation",
    "EmulatedSystem": "tg_core.support.emulation",
    "EmulationFault": "tg_core.support.emulation",
    "EventFile": "tg_core.support.emulation",
    "FaultReport": "tg_core.support.emulation",
    "HCQAllocator": "tg_core.device.queues",
    "HCQBuffer": "tg_core.device.queues",
    "HCQCompiled": "tg_core.device.queues",
    "HCQProgram": "tg_core.device.queues",
    "HWQueue": "tg_core.device.queues",
    "HostProgram": "tg_core.hcq.external",
    "HostWatch": "tg_core.support.emulation",
    "InterpreterProgram": "tg_core.device.interpreter",
    "InterpreterRenderer": "tg_core.renderer.interpreter",
    "Ioctl": "tg_core.support.emulation",
    "LLVMRenderer": "tg_core.renderer.llvm_ir",
    "LLVM_DTYPES": "tg_core.renderer.llvm_ir",
    "LLVM_OPS": "tg_core.renderer.llvm_ir",
    "Launch": "tg_core.device.queues",
    "LinuxPort": "tg_core.support.os_port",
    "MMIOView": "tg_core.support.mmio",
    "Machine": "tg_core.support.emulation",
    "OSPort": "tg_core.support.os_port",
    "PacketFault": "tg_core.support.emulation",
    "RaceDetector": "tg_core.support.emulation",
    "RaceFault": "tg_core.support.emulation",
    "QueueDescription": "tg_core.plugins.queues",
    "Register": "tg_core.support.emulation",
    "RegisterFile": "tg_core.support.emulation",
    "RegisterView": "tg_core.support.emulation",
    "Renderer": "tg_core.renderer",
    "Rights": "tg_core.support.emulation",
    "Stream": "tg_core.device.queues",
    "Target": "tg_core.renderer",
    "Word": "tg_core.device.queues",
    "WordView": "tg_core.support.mmio",
    "address_value": "tg_core.hcq.external",
    "ccall": "tg_core.hcq.external",
    "cstruct": "tg_core.hcq.external",
    "host_storage": "tg_core.hcq.external",
    "ioctl_request": "tg_core.support.ioctl",
    "linked_value": "tg_core.hcq.external",
    "provide_functions": "tg_core.hcq.external",
    "refuse": "tg_core.support.emulation",
    "when": "tg_core.hcq.external",
}


def __getattr__(name: str) -> Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value
