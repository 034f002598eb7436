"""What the `create_queue` hook returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.device import Buffer

__all__ = ["QueueDescription"]


@dataclass(frozen=True)
class QueueDescription:
    """The memory of a hardware queue.

    Core derives from it which buffer each ring placeholder (`ring_<kind>_<index>` and so on) means.
    """

    ring: Buffer
    """The ring of command words or packets."""

    read_ptr: Buffer
    """Where the hardware writes how far it has read."""

    write_ptr: Buffer
    """Where the host writes how far it has written."""

    doorbell: Buffer
    """The mapped page (or word) that tells the hardware to look."""

    put_value: Buffer
    """A zeroed host word that keeps the next write position between submissions."""

    extra: Mapping[str, Buffer] = field(default_factory=dict)
    """Further placeholders of the queue, by name."""
