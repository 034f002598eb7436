"""Which calls a hardware queue can take, and which queue that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.device import Device
from tg_core.hcq.arguments import base_of, call_device
from tg_core.plugins import Capability
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp

__all__ = ["QueueName", "has_queues", "is_host_memory", "queue_of"]


class QueueName(NamedTuple):
    """A queue of a device."""

    device: str
    kind: str
    number: int


def has_queues(device: str) -> bool:
    """Tell whether kernels of a device go through queues."""
    return Capability.QUEUES in Device[device].capabilities


def is_host_memory(device: str) -> bool:
    """Tell whether the memory of a device is memory of this process that queues may be shown."""
    capabilities = Device[device].capabilities
    return (
        Capability.HOST_VISIBLE in capabilities
        and Capability.PERSISTENT not in capabilities
        and Capability.QUEUES not in capabilities
    )


def queue_of(call: UOp) -> QueueName | None:
    """Return the queue that takes a call, None where it is done without queues.

    Args:
        call: of a program or a copy.
    """
    body = call.src[0]
    if body.op is Ops.PROGRAM:
        device = call_device(call)
        return QueueName(device, "COMPUTE", 0) if has_queues(device) else None
    if body.op is not Ops.COPY:
        return None
    # Writing to a peer beats reading from it, so the source pushes where it can.
    source, destination = (_device_of(call.src[i]) for i in (2, 1))
    if source is None or destination is None or 0 in call.src[1].shape:
        return None
    for device, other in ((source, destination), (destination, source)):
        opened = Device[device]
        if Capability.COPY_QUEUE not in opened.capabilities:
            continue
        if is_host_memory(other) or Device[other].type == opened.type:
            return QueueName(device, "COPY", 0)
    return None


def _device_of(argument: UOp) -> str | None:
    device = base_of(argument).device
    return device if isinstance(device, str) else None
