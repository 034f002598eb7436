"""What a device type can do beyond holding memory, as declared by its plugin."""

from __future__ import annotations

import enum

__all__ = ["Capability"]


class Capability(enum.Enum):
    """A promise of a device type. Core asks for these and never for a vendor's name.

    `Compiled` (in `tg_core.device`) has the table of which method each one needs.
    """

    PROGRAMS = "runs compiled kernels"
    HOST_VISIBLE = "the host can address its memory directly"
    HOST_CALL = "a kernel is a native function of this process; runs in program order"
    QUEUES = "has hardware command queues for kernels"
    COPY_QUEUE = "has a hardware queue for copies"
    COMPUTE_COPIES = "has none for copies, but its queue for kernels makes them, too"
    OVERLAPPING_LAUNCHES = "launches on one queue may overlap unless they are chained"
    RECOVERY = "usable again after a hang or a fault"
    TIMESTAMPS = "measures the time of each kernel on the device"
    CREATION = "holds data that came from outside; copies from it own their storage"
    DRY = "accepts everything, keeps and computes nothing"
    PERSISTENT = "its memory outlives the process; device names carry a location"
