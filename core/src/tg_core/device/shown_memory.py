"""Memory of the host that devices are working on, and who else touches it meanwhile.

While a batch uses memory of the host, its devices are told of every copy and kernel of the host
that touches that memory: emulators look at these like at packets of their queues. Real devices have
nothing to do with it, and nothing is noted while no memory is shown.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from tg_core.device.buffer import Buffer

__all__ = ["SHOWN", "Watcher", "hide_memory", "note_host_access", "show_memory"]


class Watcher(Protocol):
    """A device that memory of the host is shown to."""

    def host_memory_access(self, address: int, nbytes: int, write: bool, what: str) -> None:
        """Take note that the host reads or writes its own memory."""
        ...


class _Shown(NamedTuple):
    device: Watcher
    start: int
    end: int


SHOWN: list[_Shown] = []
"""All memory that is shown at the moment; mostly none, which is all that fast paths look at."""

_lock = threading.Lock()


def show_memory(device: Watcher, address: int, nbytes: int) -> None:
    """Take note that a device may work on memory of the host from now on."""
    with _lock:
        SHOWN.append(_Shown(device, address, address + nbytes))


def hide_memory(device: Watcher, address: int, nbytes: int) -> None:
    """Take note that it no longer does. A range that was shown twice is hidden once."""
    with _lock:
        SHOWN.remove(_Shown(device, address, address + nbytes))


def note_host_access(buffer: Buffer, write: bool, what: str) -> None:
    """Tell devices that the host touches memory that is shown to them.

    Args:
        buffer: allocated memory that the host touches.
        write: whether it is written.
        what: by what, for messages.

    Raises:
        DeviceError: an emulated device works on the same bytes, and nothing orders the two.
    """
    allocator = buffer.compiled.allocator
    if allocator.as_memoryview(buffer.opaque) is None:
        return
    start = allocator.address(buffer.opaque)
    end = start + buffer.nbytes
    with _lock:
        found = [shown for shown in SHOWN if shown.start < end and start < shown.end]
    for shown in found:
        shown.device.host_memory_access(start, buffer.nbytes, write, what)
