"""What emulated devices are built of: memory with rights, queues that advance as a seed says, a
detector of accesses that nothing orders, and drivers behind the port to the operating system.

| file | what it is |
|---|---|
| `memory` | what a device can reach, and with which rights |
| `machine` | queues, and whose turn it is |
| `races` | the detector |
| `faults` | what goes wrong |
| `system` | the operating system, with nodes and files of emulated drivers |
| `files` | what is behind a descriptor: tables of requests, interrupts |
| `mapped` | what is mapped into this process |
| `host` | what the host does, for the detector |
| `registers` | registers, strict about width, alignment and reserved bits |
"""

from tg_core.support.emulation.faults import (
    AccessFault,
    EmulationFault,
    FaultReport,
    PacketFault,
)
from tg_core.support.emulation.files import DriverFile, EmulatedFile, EventFile, Ioctl, refuse
from tg_core.support.emulation.host import HostWatch
from tg_core.support.emulation.machine import EmulatedQueue, Machine
from tg_core.support.emulation.memory import AddressSpace, Rights
from tg_core.support.emulation.races import Access, Clock, RaceDetector, RaceFault
from tg_core.support.emulation.registers import Register, RegisterFile, RegisterView
from tg_core.support.emulation.system import EmulatedSystem

__all__ = [
    "Access",
    "AccessFault",
    "AddressSpace",
    "Clock",
    "DriverFile",
    "EmulatedFile",
    "EmulatedQueue",
    "EmulatedSystem",
    "EmulationFault",
    "EventFile",
    "FaultReport",
    "HostWatch",
    "Ioctl",
    "Machine",
    "PacketFault",
    "RaceDetector",
    "RaceFault",
    "Register",
    "RegisterFile",
    "RegisterView",
    "Rights",
    "refuse",
]
