"""Devices: the registry, buffers and allocators, and the device types of core itself."""

from tg_core.device.api import Allocator, BufferOptions, Compiled, OpenRequest, Program
from tg_core.device.buffer import Buffer
from tg_core.device.copy import copy_buffer
from tg_core.device.counters import GlobalCounters
from tg_core.device.host import HostAllocator, host_memory_bytes
from tg_core.device.recycled import RecycledStorage
from tg_core.device.registry import Device
from tg_core.device.storage import bind_buffer, buffer_of, new_buffer_uop

__all__ = [
    "Allocator",
    "Buffer",
    "BufferOptions",
    "Compiled",
    "Device",
    "GlobalCounters",
    "HostAllocator",
    "OpenRequest",
    "Program",
    "RecycledStorage",
    "bind_buffer",
    "buffer_of",
    "copy_buffer",
    "host_memory_bytes",
    "new_buffer_uop",
]
