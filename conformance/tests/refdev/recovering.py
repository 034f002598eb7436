"""Devices between tests."""

from tg_conformance.refdev.device import RefDevice
from tg_conformance.refdev.emulated import MACHINE
from tg_core import Device


def recover_all() -> None:
    """Make devices usable again that a planted mistake has stopped, or that wait for such."""
    opened = [device for device in Device.opened() if isinstance(device, RefDevice)]
    faulty = any(queue.fault is not None for queue in MACHINE.queues)
    if faulty or any(device.lost is not None for device in opened):
        for device in opened:
            device.fail("given up by a test")
            device.check()
