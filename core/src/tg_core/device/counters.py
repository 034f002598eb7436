"""Running totals of what the process has done and holds."""

from __future__ import annotations

__all__ = ["Counters", "GlobalCounters"]


class Counters:
    """Totals since the start of the process, or since `reset`."""

    __slots__ = ("flops", "kernel_count", "mem_peak", "mem_used", "memory_bytes", "time_sum")

    mem_used: int
    """Memory held by buffers now, on all devices, in bytes; not what caches keep for reuse."""
    mem_peak: int
    """Highest `mem_used` so far, in bytes."""
    kernel_count: int
    """Kernels launched."""
    flops: int
    """Arithmetic operations of those kernels, as estimated."""
    memory_bytes: int
    """Bytes those kernels loaded and stored, as estimated."""
    time_sum: float
    """Time of the kernels that were waited for, in seconds."""

    def __init__(self) -> None:
        self.mem_used = 0
        self.reset()

    def reset(self) -> None:
        """Set the totals to zero and the peak to what is held now."""
        self.mem_peak = self.mem_used
        self.kernel_count = 0
        self.flops = 0
        self.memory_bytes = 0
        self.time_sum = 0.0

    def take(self, nbytes: int) -> None:
        """Count memory that a buffer has got."""
        self.mem_used += nbytes
        if self.mem_used > self.mem_peak:
            self.mem_peak = self.mem_used

    def give(self, nbytes: int) -> None:
        """Count memory that a buffer gave back."""
        self.mem_used -= nbytes


GlobalCounters = Counters()
"""The totals of this process."""
