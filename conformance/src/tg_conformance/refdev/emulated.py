"""REF's machine: the devices, their driver, and the operating system that it is part of.

The rest of the package reaches it through the port. A vendor's package has such a file for its
emulated interface: the class of the real one with an `EmulatedSystem` in place of a `LinuxPort`.
"""

from __future__ import annotations

from functools import partial

from tg_conformance.refdev import uapi
from tg_conformance.refdev.driver import Accelerator, RefDriver
from tg_conformance.refdev.interface import RefInterface
from tg_core.backend import EmulatedSystem, HostWatch, Machine

__all__ = ["MACHINE", "SYSTEM", "EmulatedRef"]

DEVICES = 8

MACHINE = Machine()
"""All REF devices of this process, which advance together."""


class EmulatedRef(RefInterface):
    """A device of the machine in this process.

    Args:
        index: which one.
    """

    def __init__(self, index: int) -> None:
        super().__init__(SYSTEM, index)
        self.machine = MACHINE
        self.watch = HostWatch(MACHINE)


def build_system(machine: Machine) -> EmulatedSystem:
    """Return an operating system with a node and files for each device.

    Args:
        machine: that the devices are part of.
    """

    def state() -> str:
        return machine.report(list(machine.queues))

    system = EmulatedSystem(machine)
    system.add_file(uapi.STATE, state)
    for index in range(DEVICES):
        device = Accelerator(machine, index)
        system.add_node(uapi.NODE.format(index), partial(RefDriver, system, device))
        for name, value in device.properties().items():
            system.add_file(f"{uapi.CLASS}/ref{index}/{name}", f"{value}\n")
    return system


SYSTEM = build_system(MACHINE)
