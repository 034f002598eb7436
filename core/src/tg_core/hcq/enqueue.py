"""Which calls a hardware queue can take, and which queue that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg_core.device import Device
from tg_core.hcq.arguments import base_of, call_device
from tg_core.plugins import Capability
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.device.queues.compiled import HCQCompiled
    from tg_core.uop.ops import UOp

__all__ = [
    "STAGING",
    "QueueName",
    "copy_queue_kind",
    "device_of",
    "has_queues",
    "is_host_memory",
    "is_staged",
    "queue_of",
]

STAGING = "staging"
"""What the placeholder of staging memory is called: memory of the host, for every device."""


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

    A call that goes through staging memory counts for the device at its source. Which queue of the
    kind takes the call is decided when calls are distributed; the number here is 0.

    Args:
        call: of a program or a copy.
    """
    body = call.src[0]
    if body.op is Ops.PROGRAM:
        device = call_device(call)
        return QueueName(device, "COMPUTE", 0) if has_queues(device) else None
    if body.op is not Ops.COPY or 0 in call.src[1].shape:
        return None
    found = _copying_device(call)
    if found is None and is_staged(call):
        found = device_of(call.src[2])
    kind = None if found is None else copy_queue_kind(found)
    return None if found is None or kind is None else QueueName(found, kind, 0)


def is_staged(call: UOp) -> bool:
    """Tell whether a copy goes through staging memory: both ends belong to devices that copy by
    queues, neither reaches the other, and both can be shown memory of the host.
    """
    if _copying_device(call) is not None:
        return False
    ends = (device_of(call.src[2]), device_of(call.src[1]))
    return all(end is not None and _copies(end) and _maps_host(end) for end in ends)


def _copying_device(call: UOp) -> str | None:
    """Return the device whose copy queue reaches both ends of a copy."""
    target, source = base_of(call.src[1]), base_of(call.src[2])
    # Writing to a peer beats reading from it, so the source pushes where it can.
    for own, other in ((source, target), (target, source)):
        name = own.device
        if isinstance(name, str) and _copies(name) and _reaches(name, other):
            return name
    return None


def copy_queue_kind(device: str) -> str | None:
    """Return the kind of queue that makes copies on a device, None if the host has to."""
    capabilities = Device[device].capabilities
    if Capability.COPY_QUEUE in capabilities:
        return "COPY"
    return "COMPUTE" if Capability.COMPUTE_COPIES in capabilities else None


def _copies(name: str) -> bool:
    return copy_queue_kind(name) is not None


def _with_queues(name: str) -> HCQCompiled | None:
    """Return a device that has queues, None if it has none."""
    device = Device[name]
    if Capability.QUEUES not in device.capabilities:
        return None
    # most processes have no queues, and need not know the class
    from tg_core.device.queues.compiled import HCQCompiled

    return device if isinstance(device, HCQCompiled) else None


def _maps_host(name: str) -> bool:
    device = _with_queues(name)
    return device is not None and device.hcq_allocator.maps_host


def _reaches(name: str, storage: UOp) -> bool:
    """Tell whether a device with queues can be shown storage."""
    if not isinstance(storage.device, str):
        return False
    if Device[name].type == Device[storage.device].type or is_host_memory(storage.device):
        return True
    device, other = _with_queues(name), _with_queues(storage.device)
    if device is None or other is None:
        return False
    return storage.tag == (STAGING,) or device.reaches(other)


def device_of(argument: UOp) -> str | None:
    """Return the device of storage, None where there are several."""
    device = base_of(argument).device
    return device if isinstance(device, str) else None
