"""What can go wrong inside of an emulated device. The driver reports it to whoever waits."""

from __future__ import annotations

__all__ = ["AccessFault", "EmulationFault", "PacketFault"]


class EmulationFault(Exception):
    """Base of all faults; the message is what the driver reports."""


class AccessFault(EmulationFault):
    """An address that is not mapped for the device, or not with the right that was needed."""


class PacketFault(EmulationFault):
    """A packet that the device does not know, or that is malformed."""
