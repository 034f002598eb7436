"""What can go wrong inside of an emulated device. The driver reports it to whoever waits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AccessFault", "EmulationFault", "FaultReport", "PacketFault"]


class EmulationFault(Exception):
    """Base of all faults; the message is what the driver reports."""


class AccessFault(EmulationFault):
    """An address that is not mapped for the device, or not with the right that was needed.

    Args:
        message: what happened.
        address: the first address of the access, where it has one.
        nbytes: its length.
        write: whether it was a write.
    """

    def __init__(
        self, message: str, address: int | None = None, nbytes: int = 0, write: bool = False
    ) -> None:
        super().__init__(message)
        self.address, self.nbytes, self.write = address, nbytes, write


class PacketFault(EmulationFault):
    """A packet that the device does not know, or that is malformed."""


@dataclass(frozen=True)
class FaultReport:
    """A fault as an emulated driver learns of it, to raise an interrupt and to fill in what its
    real counterpart tells the process.
    """

    queue: str
    """Device and queue."""
    kind: str
    """`access`, `packet`, `race`, or the name of another class of faults."""
    message: str
    address: int | None = None
    """Of a wrong access."""
    nbytes: int = 0
    write: bool = False

    @staticmethod
    def of(queue: str, fault: EmulationFault) -> FaultReport:
        """Return the report of what stopped a queue."""
        kind = type(fault).__name__.removesuffix("Fault").lower()
        cause: BaseException | None = fault
        while cause is not None and not (
            isinstance(cause, AccessFault) and cause.address is not None
        ):
            cause = cause.__cause__
        if isinstance(cause, AccessFault):
            place = (cause.address, cause.nbytes, cause.write)
            return FaultReport(queue, kind, str(fault), *place)
        return FaultReport(queue, kind, str(fault))
