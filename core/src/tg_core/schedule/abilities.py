"""What scheduling asks of devices."""

from __future__ import annotations

from typing import Final

from tg_core.device import Device
from tg_core.plugins.capability import Capability

MAX_READS: Final = 60
"""Buffers one kernel may read, where the device does not allow fewer."""


def has_row_kernels(device: str | None) -> bool:
    """Tell whether a kernel's loops run in order on the device, so that a value can be shared along
    some of them.
    """
    if device is None:
        return False
    opened = Device[device]
    return Capability.PROGRAMS in opened.capabilities and not opened.renderer.has_global


def most_reads(device: str | None) -> int:
    """Return how many buffers a kernel of the device may read beside the one it writes."""
    if device is None or Capability.PROGRAMS not in Device[device].capabilities:
        return MAX_READS
    allowed: int = Device[device].renderer.max_buffers
    return min(MAX_READS, allowed - 1)
