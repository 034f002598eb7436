"""All emulated queues of this process, and whose turn it is.

Queues advance only when somebody asks: while the host waits. Which one advances, and how far, is
drawn from a seed, so an order that shows a mistake can be had again.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tg_core.support.emulation.faults import EmulationFault, FaultReport
from tg_core.support.emulation.races import RaceDetector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["EmulatedQueue", "Machine"]

BURST = 4
"""Packets that a queue executes in one turn, at most."""

_IDLE_SECONDS = 1e-4

_machines: list[weakref.ref[Machine]] = []
"""In the order they were made, which is the order their locks are taken in."""


class EmulatedQueue(ABC):
    """A queue that executes packets one by one."""

    name: str
    """Device and queue, for messages."""
    fault: EmulationFault | None = None
    """Why it stopped for good, or None."""

    @abstractmethod
    def look(self) -> None:
        """Read the doorbell."""

    @abstractmethod
    def ready(self) -> bool:
        """Tell whether there is a packet that can be executed now."""

    @abstractmethod
    def step(self) -> None:
        """Execute one packet.

        Raises:
            EmulationFault: it cannot be.
        """

    @abstractmethod
    def state(self) -> str:
        """Return what the queue is at, for reports."""


class Machine:
    """Queues that advance in an order drawn from a seed.

    Args:
        seed: of the order; None takes `TG_EMULATION_SEED` of the environment, else 0.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.queues: list[EmulatedQueue] = []
        self.races = RaceDetector()
        self.fault_listeners: list[Callable[[FaultReport], None]] = []
        """Called with each fault, once: emulated drivers raise interrupts."""
        self.lock = threading.RLock()
        """Held while anything emulated is looked at or changed."""
        self.steps = 0
        """Packets that were begun: while it grows, something moves."""
        self._stepping: int | None = None
        self.reseed(seed)
        _machines[:] = [known for known in _machines if known() is not None]
        _machines.append(weakref.ref(self))

    def reseed(self, seed: int | None = None) -> None:
        """Begin another order."""
        self.seed = int(os.environ.get("TG_EMULATION_SEED", "0")) if seed is None else seed
        self._random = random.Random(self.seed)

    def add(self, queue: EmulatedQueue) -> None:
        """Let a queue take part."""
        with self.lock:
            self.queues.append(queue)

    def remove(self, queues: list[EmulatedQueue]) -> None:
        """Take queues out, of a device that is closed."""
        with self.lock:
            self.queues = [queue for queue in self.queues if queue not in queues]

    @property
    def stepping(self) -> bool:
        """Whether this thread is in the middle of a packet: a finalizer can find itself there."""
        return self._stepping == threading.get_ident()

    def look(self) -> None:
        """Let every queue read its doorbell, before the host does something that must be seen as
        later.
        """
        with self.lock:
            for queue in self.queues:
                try:
                    queue.look()
                except EmulationFault as fault:
                    self._stop(queue, fault)

    def advance(self) -> bool:
        """Give one queue its turn; returns False if none can move, as in the middle of a packet."""
        with self.lock:
            if self.stepping:
                return False
            self._stepping = threading.get_ident()
            try:
                return self._turn()
            finally:
                self._stepping = None

    def _turn(self) -> bool:
        self.look()
        able = [queue for queue in self.queues if self._able(queue)]
        if not able:
            return False
        queue = self._random.choice(able)
        for _ in range(self._random.randint(1, BURST)):
            self._step(queue)
            if not self._able(queue):
                break
        return True

    def _able(self, queue: EmulatedQueue) -> bool:
        """Tell whether a queue can move; looking at its next packet may already be a fault."""
        try:
            return queue.fault is None and queue.ready()
        except EmulationFault as fault:
            self._stop(queue, fault)
            return False

    def _step(self, queue: EmulatedQueue) -> None:
        self.steps += 1
        try:
            queue.step()
        except EmulationFault as fault:
            self._stop(queue, fault)

    def _stop(self, queue: EmulatedQueue, fault: EmulationFault) -> None:
        if queue.fault is None:
            queue.fault = fault
            report = FaultReport.of(queue.name, fault)
            for listener in self.fault_listeners:
                listener(report)

    @contextmanager
    def free_running(self, seconds: float = 30.0) -> Iterator[None]:
        """Let every queue run in a thread of its own while the block runs: a test of stress, whose
        order no seed brings back. Packets stay whole, because each holds the lock.

        Args:
            seconds: after which threads end that find nothing to do.
        """
        stop = threading.Event()
        until = time.monotonic() + seconds

        def run(queue: EmulatedQueue) -> None:
            while not stop.is_set() and time.monotonic() < until:
                if not self._advance_one(queue):
                    stop.wait(_IDLE_SECONDS)

        threads = [threading.Thread(target=run, args=(q,), daemon=True) for q in self.queues]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _advance_one(self, queue: EmulatedQueue) -> bool:
        """Execute one packet of a queue, if it has one."""
        with self.lock:
            self._stepping = threading.get_ident()
            try:
                self.look()
                if queue not in self.queues or not self._able(queue):
                    return False
                self._step(queue)
                return True
            finally:
                self._stepping = None

    def report(self, queues: list[EmulatedQueue]) -> str:
        """Return the state of queues, one a line, with the seed that leads to it."""
        lines = [f"  {queue.name}: {queue.fault or queue.state()}" for queue in queues]
        return "\n".join([*lines, f"  emulation seed {self.seed}"])


_held: list[Machine] = []


def _before_fork() -> None:
    """Let packets end first: a child has only the thread that forks, and the locks of the others
    would stay taken.
    """
    for known in _machines:
        machine = known()
        if machine is not None:
            machine.lock.acquire()
            _held.append(machine)


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
