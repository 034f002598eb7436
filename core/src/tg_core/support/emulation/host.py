"""What the host does, as the race detector of a machine gets to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.support.emulation.races import HOST

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tg_core.support.emulation.machine import Machine

__all__ = ["HostWatch"]


class HostWatch:
    """Stands for the host in a machine of emulated queues.

    An emulated interface has one as `watch`. Core tells it what hardware needs not be told: which
    memory the host reads and writes, when it submits, and which signals it has seen. Addresses are
    those of this process.

    Args:
        machine: whose queues work beside the host.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def occupied(self) -> bool:
        """Whether this thread is in the middle of a packet, where it cannot wait for queues: the
        collector may run a finalizer there.
        """
        return self._machine.stepping

    def submission(self) -> AbstractContextManager[object]:
        """Return what is entered around a submission: no queue advances until it is known."""
        return self._machine.lock

    def access(self, what: str, address: int, nbytes: int, write: bool) -> None:
        """Take note that the host touches memory. What queues were given before comes before it.

        Args:
            what: by what, for messages.
            address: of the first byte.
            nbytes: how many.
            write: whether they are written.

        Raises:
            RaceFault: a queue touches the same bytes, and nothing orders the two.
        """
        self._machine.look()
        with self._machine.lock:
            self._machine.races.access(HOST, what, [(address, nbytes, write)])

    def submitted(self, what: str, signal: int, commands: int, nbytes: int) -> None:
        """Take note of a submission: the host has seen that the last run of the commands is over,
        and has written them anew.

        Args:
            what: was submitted, for messages.
            signal: address of the signal that it has seen.
            commands: address of the commands.
            nbytes: how long they are.

        Raises:
            RaceFault: a queue may still read the commands.
        """
        with self._machine.lock:
            self._machine.races.acquire(HOST, signal)
            self._machine.races.access(HOST, what, [(commands, nbytes, True)])

    def acquire(self, signal: int) -> None:
        """Take note that the host has seen a signal."""
        with self._machine.lock:
            self._machine.races.acquire(HOST, signal)

    def release(self, signal: int, value: int) -> None:
        """Take note that the host sets a signal, in place of work that was dropped."""
        with self._machine.lock:
            self._machine.races.release(HOST, signal, value)
