"""The timeline of a device: what it has finished, and what it was given."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tg_core.device.api import BufferOptions
from tg_core.device.buffer import Buffer
from tg_core.dtype import dtypes
from tg_core.support.mmio import MMIOView

if TYPE_CHECKING:
    from tg_core.device.queues.compiled import HCQCompiled

__all__ = ["SHARED", "Timeline"]

SHARED = BufferOptions(host_access=True, uncached=True, host=True)
"""Words that host and device both poll."""


class Timeline:
    """Two words: the signal, which the device writes, and the number of the last batch it was
    given, which the host writes. The device is idle when the signal has reached the number.

    Args:
        device: whose.
        bits: how many bits of a signal the device compares.
    """

    def __init__(self, device: HCQCompiled, bits: int) -> None:
        self.buffer = Buffer(device.name, 2, dtypes.uint64, options=SHARED).allocate()
        # Memory may be used before: it says nothing yet about this device.
        self.words = MMIOView(self.buffer.opaque.host_bytes(), "Q")
        self.words[0] = self.words[1] = 0
        self.bits = bits
        self.dependents: weakref.WeakSet[Dependent] = weakref.WeakSet()
        """What keeps numbers of this timeline, and must forget them when it starts over."""

    @property
    def signal(self) -> int:
        """The number of the last batch that is done."""
        return self.words[0]

    @property
    def given(self) -> int:
        """The number of the last batch that the device was given."""
        return self.words[1]

    @property
    def full(self) -> bool:
        """Whether another batch would reach the half of the numbers that compares as negative."""
        return self.words[1] + 1 >= 1 << (self.bits - 1)

    def start_over(self, number: int = 0) -> None:
        """Begin again at a number. The device is idle, and nobody waits for it."""
        for dependent in list(self.dependents):
            dependent.forget()
        self.words[0] = self.words[1] = number


class Dependent:
    """Something that keeps numbers of timelines between runs."""

    def forget(self) -> None:
        """Take every run so far for finished."""
        raise NotImplementedError
