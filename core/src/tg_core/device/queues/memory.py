"""Memory as devices with queues see it: an address of the device, and where the host finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.errors import DeviceError

if TYPE_CHECKING:
    from tg_core.device.queues.compiled import HCQCompiled

__all__ = ["HCQBuffer"]


class HCQBuffer:
    """An allocation, or a part of one. Parts share what the whole is mapped for.

    Args:
        owner: the device it was allocated on.
        address: its address there.
        nbytes: how long it is.
        host: the same bytes in this process, or None where the host has no view.
        meta: whatever the backend needs to find it again.
        base: the allocation that this is a part of.
        in_host: whether it is memory of the host, which devices of other types may be shown too.
    """

    __slots__ = ("_base", "address", "host", "in_host", "mapped", "meta", "nbytes", "owner")

    def __init__(
        self,
        owner: HCQCompiled,
        address: int,
        nbytes: int,
        host: memoryview | None = None,
        meta: Any = None,
        base: HCQBuffer | None = None,
        in_host: bool = False,
    ) -> None:
        self.owner, self.address, self.nbytes = owner, address, nbytes
        self.host, self.meta, self.in_host = host, meta, in_host
        # A reference to itself would leave the memory to the collector of cycles.
        self._base = base
        self.mapped: dict[HCQCompiled, int] = {} if base is None else base.mapped
        """Addresses of the whole allocation on other devices that it was mapped for."""

    @property
    def base(self) -> HCQBuffer:
        """The whole allocation."""
        return self if self._base is None else self._base

    def part(self, offset: int, nbytes: int) -> HCQBuffer:
        """Return `nbytes` bytes from byte `offset` on."""
        host = None if self.host is None else self.host[offset : offset + nbytes]
        start = self.address + offset
        return HCQBuffer(self.owner, start, nbytes, host, self.meta, self.base, self.in_host)

    @property
    def host_address(self) -> int:
        """Where it is in this process.

        Raises:
            DeviceError: the host has no view.
        """
        return int(np.frombuffer(self.host_bytes(), np.uint8).ctypes.data)

    def host_bytes(self) -> memoryview:
        """Return the bytes in this process.

        Raises:
            DeviceError: the host has no view.
        """
        if self.host is None:
            raise DeviceError(
                f"{self.owner.name}: memory at {self.address:#x} has no view of the host"
            )
        return self.host
