"""Level 3: hardware queues exist where they are declared, and describe their memory."""

from __future__ import annotations

import pytest

from tg_core import Device
from tg_core.backend import QueueDescription
from tg_core.plugins.dispatch import create_queue

pytestmark = pytest.mark.tg_level(3)

RING_BYTES = 1 << 16


def check_queue(device: str, kind: str) -> None:
    """Check that a queue can be made, and that its parts fit together."""
    queue = create_queue(Device[device], kind, 0, RING_BYTES)
    assert isinstance(queue, QueueDescription), (
        f"{device}: declares {kind} queues, and create_queue gives {queue!r}"
    )
    assert queue.ring.nbytes >= RING_BYTES, (
        f"{device}: a {kind} ring of {queue.ring.nbytes} bytes, expected at least {RING_BYTES}"
    )
    for name in ("ring", "read_ptr", "write_ptr", "doorbell", "put_value"):
        buffer = getattr(queue, name)
        assert buffer.is_allocated(), f"{device}: {name} of the {kind} queue has no memory"


@pytest.mark.tg_needs("QUEUES")
def test_the_compute_queue(tg_device: str) -> None:
    """A device that declares QUEUES makes one for kernels."""
    check_queue(tg_device, "COMPUTE")


@pytest.mark.tg_needs("COPY_QUEUE")
def test_the_copy_queue(tg_device: str) -> None:
    """A device that declares COPY_QUEUE makes one for copies."""
    check_queue(tg_device, "COPY")
