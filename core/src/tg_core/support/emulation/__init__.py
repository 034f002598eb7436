"""What emulated devices are built of: memory with rights, queues that advance as a seed says, and a
detector of accesses that nothing orders.
"""

from tg_core.support.emulation.faults import AccessFault, EmulationFault, PacketFault
from tg_core.support.emulation.machine import EmulatedQueue, Machine
from tg_core.support.emulation.memory import AddressSpace, Rights
from tg_core.support.emulation.races import Access, Clock, RaceDetector, RaceFault

__all__ = [
    "Access",
    "AccessFault",
    "AddressSpace",
    "Clock",
    "EmulatedQueue",
    "EmulationFault",
    "Machine",
    "PacketFault",
    "RaceDetector",
    "RaceFault",
    "Rights",
]
