"""The clock of a device against that of the host."""

from __future__ import annotations

import math

__all__ = ["DeviceClock"]


class DeviceClock:
    """Narrows down what to add to a device's time to get the host's.

    Every batch that is waited for gives two bounds: nothing began before it was given, and nothing
    ended after the wait was over. The truth is between the tightest of them; a clock that drifts
    out of its bounds begins anew.
    """

    def __init__(self) -> None:
        self.low, self.high = -math.inf, math.inf
        """Bounds of the difference, in seconds."""

    @property
    def offset(self) -> float:
        """What to add, in seconds; 0 while nothing is known."""
        if math.isinf(self.low) or math.isinf(self.high):
            return 0.0
        return (self.low + self.high) / 2

    @property
    def uncertainty(self) -> float:
        """How far off that may be, in seconds."""
        return (self.high - self.low) / 2

    def observe(self, given: float, first: float, last: float, over: float) -> None:
        """Take note of a batch.

        Args:
            given: when it was given to the device, on the host's clock.
            first: its first time stamp, in seconds of the device.
            last: its last time stamp.
            over: when the host knew that it was over.
        """
        low, high = given - first, over - last
        if low > high:
            return
        if low > self.high or high < self.low:
            self.low, self.high = low, high
            return
        self.low, self.high = max(self.low, low), min(self.high, high)
