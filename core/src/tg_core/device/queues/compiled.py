"""A device whose work goes through hardware queues."""

from __future__ import annotations

import importlib
import time
from collections import deque
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from tg_core.device.api import BufferOptions, Compiled
from tg_core.device.buffer import Buffer
from tg_core.device.queues.allocator import HCQAllocator
from tg_core.device.queues.clock import DeviceClock
from tg_core.device.queues.ring_pool import RingPool
from tg_core.device.queues.timeline import Timeline
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.plugins.capability import Capability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tg_core.device.queues.memory import HCQBuffer
    from tg_core.plugins.queues import QueueDescription
    from tg_core.support.emulation import HostWatch
    from tg_core.uop.ops import ProgramInfo

__all__ = ["HCQCompiled", "HCQProgram"]

WAIT_SECONDS = 30.0
"""How long a wait lasts without any progress before the device counts as hung."""

STILL_SECONDS = 0.1
"""How long, when the device itself says that nothing can move: another thread may be about to give
it work."""


class Patience:
    """Measures how long nothing has moved.

    Args:
        seconds: when to give up.
    """

    def __init__(self, seconds: float = WAIT_SECONDS) -> None:
        self._seconds = seconds
        self._since = time.monotonic()
        self._still: float | None = None

    def renew(self) -> None:
        """Begin anew: something has moved."""
        self._since, self._still = time.monotonic(), None

    def is_over(self, moving: bool) -> bool:
        """Tell whether to give up; rests a little where nothing can move.

        Args:
            moving: what `HCQCompiled.sleep` said.
        """
        now = time.monotonic()
        if moving:
            self._still = None
            return now - self._since > self._seconds
        if self._still is None:
            self._still = now
        if now - self._still > min(STILL_SECONDS, self._seconds):
            return True
        time.sleep(1e-3)
        return False


class HCQProgram:
    """A kernel in the memory of a device.

    Args:
        device: where.
        name: the entry point.
        info: how it is launched.
        image: the bytes a launch points the device to.
    """

    def __init__(self, device: HCQCompiled, name: str, info: ProgramInfo, image: bytes) -> None:
        self.device, self.name, self.info = device, name, info
        # what copies by kernels cannot bring the first of them to where the host has no view
        visible = Capability.COPY_QUEUE not in device.capabilities
        options = BufferOptions(host_access=visible)
        self.image = Buffer(device.name, len(image), dtypes.uint8, options=options).copyin(image)

    def __call__(
        self,
        buffers: Sequence[Any],
        values: tuple[int, ...] = (),
        global_size: tuple[int, ...] = (1, 1, 1),
        local_size: tuple[int, ...] = (1, 1, 1),
        wait: bool = False,
    ) -> float | None:
        """Launch the kernel by itself; see `Program`."""
        # A launch is a batch of one. Batches are made a layer above, which knows this one.
        direct = importlib.import_module("tg_core.hcq.direct")
        elapsed: float | None = direct.launch(self, buffers, values, global_size, local_size, wait)
        return elapsed


class HCQCompiled(Compiled):
    """A device with queues.

    Beside the hooks, a backend gives:

    | member | what it is |
    |---|---|
    | `SIGNAL_BITS` | how many bits of a signal the device compares, 32 or 64 |
    | `TICKS_PER_SECOND` | of the clock that timestamps are taken from |
    | `sleep` | lets time pass for a waiting host, in the driver if it can |
    | `image` | the bytes of a loaded kernel, if not those the renderer made |
    | `reset` | drops work in flight after a hang or fault (`Capability.RECOVERY`) |
    | `hang_report` | what the device was doing when nothing moved any more |
    | `QUEUE_COUNTS` | how many queues of each kind calls are spread over |
    | `reaches` | whether its queues can be shown the memory of a device of another type |
    | `STAGING_BYTES` | host memory for copies to devices that it does not reach |
    | `SHOWN_BYTES` | host memory that stays mapped between runs, at most |

    An emulated interface has a `HostWatch` as `watch`, and is told through it what the host does.
    """

    SIGNAL_BITS: ClassVar[int] = 64
    TICKS_PER_SECOND: ClassVar[float] = 1e9
    RING_BYTES: ClassVar[int] = 1 << 16
    QUEUE_COUNTS: Mapping[str, int] = MappingProxyType({"COMPUTE": 1, "COPY": 1})
    POOL_BYTES: ClassVar[int] = 64 << 20
    """Memory for batches that run once, of each kind."""
    STAGING_BYTES: ClassVar[int] = 128 << 20
    STAGING_SLOTS: ClassVar[int] = 2
    SHOWN_BYTES: ClassVar[int] = 1 << 30
    EMULATED_BYTES: ClassVar[int] = 4 << 20
    """The most of either where the interface is emulated, and nothing is gained by more."""

    def __init__(self, request: Any) -> None:
        super().__init__(request)
        self.watch: HostWatch | None = getattr(request.interface, "watch", None)
        """Who is told what the host does; hardware has none."""
        self.lost: str | None = None
        """Why the device is of no use any more, or None while it works."""
        self._timeline: Timeline | None = None
        self._queues: dict[tuple[str, int], QueueDescription] = {}
        self._in_flight: deque[tuple[int, object]] = deque()
        self._staging: Buffer | None = None
        self.clock = DeviceClock()
        """Of time stamps, against the host's."""
        self._pools: dict[BufferOptions, RingPool] = {}
        self.kept_links: dict[object, Any] = {}
        """Batches that core itself uses again and again, linked for this device."""

    @property
    def hcq_allocator(self) -> HCQAllocator:
        """The allocator, as what it is on such devices."""
        allocator = self.allocator
        if not isinstance(allocator, HCQAllocator):
            raise DeviceError(
                f"{self.name}: has queues, but its allocator is {type(allocator).__name__}, "
                "expected an HCQAllocator"
            )
        return allocator

    @property
    def timeline(self) -> Timeline:
        """What the device has finished, and what it was given."""
        if self._timeline is None:
            self._timeline = Timeline(self, self.SIGNAL_BITS)
        return self._timeline

    def reaches(self, other: HCQCompiled) -> bool:
        """Tell whether queues of this device can be shown memory of another one, which is not in
        the host: `map_peer` is called for it then.
        """
        return other.type == self.type

    @property
    def staging_bytes(self) -> int:
        """How much memory `staging` is."""
        return self._limited(self.STAGING_BYTES)

    def _limited(self, nbytes: int) -> int:
        records = self.catalog.interfaces(self.type)
        emulated = any(r.emulated and r.name == self.interface_name for r in records)
        return min(nbytes, self.EMULATED_BYTES) if emulated else nbytes

    def ring_pool(self, options: BufferOptions) -> RingPool:
        """Return the pool of memory of a kind, for batches that run once."""
        found = self._pools.get(options)
        if found is None:
            found = self._pools[options] = RingPool(self, self._limited(self.POOL_BYTES), options)
        return found

    @property
    def staging(self) -> Buffer:
        """Memory of the host for what goes through it in pieces; made at its first use.

        Batches that use it are ordered like those that use any other memory of the device.
        """
        if self._staging is None:
            options = BufferOptions(host_access=True, host=True)
            made = Buffer(self.name, self.staging_bytes, dtypes.uint8, options=options)
            self._staging = made.allocate()
        return self._staging

    def queue(self, kind: str, index: int) -> QueueDescription:
        """Return the memory of a queue, made at its first use.

        Raises:
            DeviceError: the device has no such queue.
        """
        found = self._queues.get((kind, index))
        if found is None:
            from tg_core.plugins.dispatch import create_queue

            found = create_queue(self, kind, index, self.RING_BYTES)
            if found is None:
                raise DeviceError(f"{self.name}: no queue {kind}:{index}; no plugin makes one")
            self._queues[kind, index] = found
        return found

    def keep(self, what: object) -> None:
        """Keep what the batch just given points to until the device is done with it.

        Memory of signals must outlive the waits of other devices too, so each device of a batch
        keeps all of it.
        """
        self._drop_until(self.timeline.signal)
        self._in_flight.append((self.timeline.given, what))

    def _drop_until(self, number: int) -> None:
        while self._in_flight and self._in_flight[0][0] <= number:
            self._in_flight.popleft()

    def image(self, name: str, binary: bytes, info: ProgramInfo) -> bytes:
        """Return the bytes that a launch of a kernel points to."""
        return binary

    def load_program(self, name: str, binary: bytes, info: ProgramInfo) -> HCQProgram:
        return HCQProgram(self, name, info, self.image(name, binary, info))

    def sleep(self, seconds: float) -> bool:
        """Let time pass while the host waits.

        Args:
            seconds: at most this long.

        Returns:
            False if nothing will ever move again, as far as the backend can tell.
        """
        time.sleep(min(seconds, 1e-4))
        return True

    @property
    def occupied(self) -> bool:
        """Whether this thread is where it cannot wait for the device, in an emulator's packet."""
        return self.watch is not None and self.watch.occupied

    def hang_report(self) -> str:
        """Return what each queue was doing, for the error of a wait that came to nothing."""
        return "no report"

    def host_access(self, buffer: HCQBuffer, nbytes: int, write: bool) -> None:
        """Take note that the host reads or writes memory; for emulators that look for races."""
        if self.watch is not None:
            what = "copyin" if write else "copyout"
            self.host_memory_access(buffer.host_address, nbytes, write, what)

    def host_memory_access(self, address: int, nbytes: int, write: bool, what: str) -> None:
        """Take note that a kernel or copy of the host touches its own memory while that is shown to
        this device; for emulators that look for races.
        """
        if self.watch is not None:
            self._tell(self.watch.access, what, address, nbytes, write)

    def submission(self) -> AbstractContextManager[object]:
        """Return what is entered around a call of a host program; for emulators, which must not
        advance before they have taken note of what it did.
        """
        return nullcontext() if self.watch is None else self.watch.submission()

    def host_submitted(self, commands: HCQBuffer) -> None:
        """Take note that the host has found the last run of a batch over, has written its commands
        anew and rung the doorbells; for emulators that look for races.
        """
        if self.watch is not None:
            place, signal = commands.host_address, self.timeline.buffer.opaque.host_address
            what = f"submission to {self.name}"
            self._tell(self.watch.submitted, what, signal, place, commands.nbytes)

    def host_acquire(self) -> None:
        """Take note that the host has seen the signal; for emulators that look for races."""
        if self.watch is not None:
            self.watch.acquire(self.timeline.buffer.opaque.host_address)

    def _tell(self, note: Callable[..., None], *facts: object) -> None:
        from tg_core.support.emulation import EmulationFault

        try:
            note(*facts)
        except EmulationFault as fault:
            raise self.fail(f"fault: {fault}\n{self.hang_report()}") from fault

    def fail(self, reason: str) -> DeviceError:
        """Mark the device as lost, and return the error to raise."""
        self.lost = reason
        return DeviceError(f"{self.name}: {reason}")

    def check(self) -> None:
        """Check that the device is of use; one that can recover does so now.

        Raises:
            DeviceError: it hung or faulted before, for good.
        """
        if self.lost is None:
            return
        if Capability.RECOVERY not in self.capabilities:
            raise DeviceError(f"{self.name}: lost since an earlier error: {self.lost}")
        self.reset()
        timeline = self.timeline
        if self.watch is not None:
            self.watch.release(timeline.buffer.opaque.host_address, timeline.given)
        timeline.words[0] = timeline.words[1]
        self._in_flight.clear()
        self.lost = None

    def reset(self) -> None:
        """Drop all work in flight and make the queues usable again (`Capability.RECOVERY`). What is
        in the memory of the device stays there; work that was dropped may be half done.
        """
        raise DeviceError(f"{self.name}: it cannot be reset")

    def synchronize(self, seconds: float = WAIT_SECONDS) -> None:
        """Return when all batches given so far are done.

        Args:
            seconds: how long nothing may move before the device counts as hung.

        Raises:
            DeviceError: it hung or faulted; the message has what it was doing.
        """
        self.check()
        timeline = self._timeline
        if timeline is None:
            return
        self.wait_until(timeline.given, seconds)

    def wait_until(self, number: int, seconds: float = WAIT_SECONDS) -> None:
        """Return when the signal has reached a number.

        Raises:
            DeviceError: it hung or faulted.
        """
        timeline = self.timeline
        seen, patience = timeline.signal, Patience(seconds)
        while seen < number:
            moving = self.sleep(seconds)
            signal = timeline.signal
            if signal != seen:
                seen = signal
                patience.renew()
            elif patience.is_over(moving):
                raise self.fail(f"hang: signal {seen} did not reach {number}\n{self.hang_report()}")
        self.host_acquire()
        self._drop_until(number)
