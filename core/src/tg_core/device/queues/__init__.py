"""Devices with hardware queues: memory, timelines, and the encoders of command words."""

from tg_core.device.queues.allocator import HCQAllocator
from tg_core.device.queues.compiled import HCQCompiled, HCQProgram
from tg_core.device.queues.encoder import HWQueue, Launch, Stream, Word
from tg_core.device.queues.memory import HCQBuffer
from tg_core.device.queues.timeline import Timeline
from tg_core.support.mmio import MMIOView

__all__ = [
    "HCQAllocator",
    "HCQBuffer",
    "HCQCompiled",
    "HCQProgram",
    "HWQueue",
    "Launch",
    "MMIOView",
    "Stream",
    "Timeline",
    "Word",
]
