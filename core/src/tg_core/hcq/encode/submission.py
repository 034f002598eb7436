"""The host program of a batch of queue calls.

It reads one table of inputs, and does everything or nothing:

| words of the table | content |
|---|---|
| 0 | written: 1 if everything was done, 0 if the last run is not over or a ring is full |
| 1.. | written: for each device, the number of the last batch it was given |
| then | for each queue: position of its words, how many, their address |
| then | for each device: first patch, number of patches |
| then | what comes with each run |

A patch has the place of a 32-bit word in the commands of the device, the word of the table to take,
what is added to it, and by how many bits it is shifted down.

The order is: every device's fence, the patches, the timelines and signals, then the queues, each
after the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tg_core.device import Device
from tg_core.device.queues.encoder import Stream
from tg_core.dtype import dtypes
from tg_core.hcq.encode.streams import commands_of
from tg_core.hcq.external import host_storage, number_placeholders, split_fields
from tg_core.hcq.submits import SLOT, slots_of, timeline_of
from tg_core.plugins.dispatch import MatcherHook, device_matcher
from tg_core.uop.ops import KernelInfo, Ops, ParamArg, UOp, graph_rewrite
from tg_core.uop.passes import verified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.hcq.encode.streams import Placed
    from tg_core.hcq.external import Field
    from tg_core.hcq.submits import Submits

__all__ = ["PATCH_WORDS", "Layout", "submission_program"]

PATCH_WORDS: Final = 4
"""Words of a patch."""

_MOST: Final = 1 << 24

_HOOKS: Final[tuple[MatcherHook, ...]] = ("pm_encode", "pm_lower")


@dataclass(frozen=True)
class Layout:
    """Where things are in the table of inputs, in words."""

    devices: int
    queues: int

    @property
    def submits(self) -> int:
        """The first word about queues: three for each."""
        return 1 + self.devices

    @property
    def patches(self) -> int:
        """The first word about patches: two for each device."""
        return self.submits + 3 * self.queues

    @property
    def values(self) -> int:
        """The first word of what comes with each run."""
        return self.patches + 2 * self.devices


def submission_program(
    submits: Submits, placed: Sequence[Placed]
) -> tuple[UOp, list[UOp], dict[UOp, list[Field]]]:
    """Return the host program, and what storage its arguments stand for.

    The program depends on which queues there are and on how many slots their devices have, and not
    on their commands.

    Returns:
        A kernel SINK; for each of its arguments the placeholder, of which the first two are the
        table of inputs and the patches; and what linking writes into structures.
    """
    body = verified("submission-program", "kernel", _Body(submits, placed).sink())
    for name in submits.devices:
        for hook in _HOOKS:
            rules = device_matcher(Device[name], hook)
            if rules is not None:
                stage = f"{hook} of {name}"
                body = graph_rewrite(body, rules, ctx=Device[name], name=stage)
                verified(stage, "kernel", body)
    body, fields = split_fields(body)
    numbered, placeholders = number_placeholders(body, [table_of("inputs"), table_of("patches")])
    return numbered, placeholders, fields


def table_of(name: str) -> UOp:
    """Return a table of the host program as storage."""
    return host_storage(("host", name), dtypes.int64, _MOST)


class _Body:
    """The nodes of one host program."""

    def __init__(self, submits: Submits, placed: Sequence[Placed]) -> None:
        self.submits, self.placed = submits, placed
        self.layout = Layout(len(submits.devices), len(placed))
        self.inputs = table_of("inputs")

    def sink(self) -> UOp:
        """Return the whole."""
        ready = self._ready()
        given = [_word(timeline_of(device), 1) for device in self.submits.devices]
        noted = [_store(self.inputs, 0, ready.cast(dtypes.int64))]
        for i, last in enumerate(given):
            noted.append(_store(self.inputs, 1 + i, last.cast(dtypes.int64)))
        self.inputs = self.inputs.after(*noted)
        done = self._rearmed(given, self._patched())
        for number, placed in enumerate(self.placed):
            done = self._submitted(number, placed, done)
        return UOp.sink(done, arg=KernelInfo("submit", ()))

    def _input(self, word: int) -> UOp:
        return _word(self.inputs, word)

    def _go(self) -> UOp:
        """Return whether to go on, as it was found at the beginning."""
        return self._input(0).ne(0)

    def _ready(self) -> UOp:
        """Return whether the last run of the batch is over on all devices, and rings have room."""
        conditions = [
            _word(timeline_of(device), 0) >= _word(slots_of(device), 0)
            for device in self.submits.devices
        ]
        for placed in self.placed:
            room = placed.queue.room()
            if room is not None:
                conditions.append(room)
        ready = conditions[0]
        for condition in conditions[1:]:
            ready = ready & condition
        return ready

    def _patched(self) -> UOp:
        """Write the words that change from run to run."""
        patches, ends = table_of("patches"), []
        for i, device in enumerate(self.submits.devices):
            at = self.layout.patches + 2 * i
            count = self._go().where(self._input(at + 1), UOp.const(0, dtypes.int64))
            patch = UOp.range(count, i)
            row = (self._input(at) + patch) * PATCH_WORDS
            place, source, addend, shift = (
                patches.index(row + k).load() for k in range(PATCH_WORDS)
            )
            value = (self.inputs.index(source).load() + addend).alu(Ops.SHR, shift)
            word = commands_of(device).index(place).store(value.cast(dtypes.uint32))
            ends.append(word.end(patch))
        return UOp(Ops.GROUP, tuple(ends))

    def _rearmed(self, given: Sequence[UOp], done: UOp) -> UOp:
        """Give each device the next number, and set the signals of its queues back."""
        go, stores = self._go(), []
        for device, number in zip(self.submits.devices, given, strict=True):
            following = number + UOp.const(1, dtypes.uint64)
            stores.append(_store(timeline_of(device).after(done), 1, following, go))
            slots = slots_of(device).after(done)
            stores.append(_store(slots, 0, following, go))
            for queue, slot in self.submits.signals.items():
                if queue.device == device:
                    zero = UOp.const(0, dtypes.uint64)
                    stores.append(_store(slots, slot * SLOT // 8, zero, go))
        return UOp(Ops.GROUP, tuple(stores))

    def _submitted(self, number: int, placed: Placed, done: UOp) -> UOp:
        """Push the words of one queue, after everything before."""
        marks = [
            UOp(Ops.PARAM, (), ParamArg(-1, dtype, (), None, name, bounds), ("mark", name))
            for name, dtype, bounds in (
                ("address", dtypes.int64, (-(1 << 63), (1 << 63) - 1)),
                ("start", dtypes.int64, (0, _MOST)),
                ("count", dtypes.int64, (0, _MOST)),
                ("ready", dtypes.bool, (0, 1)),
            )
        ]
        commands = commands_of(placed.queue.device.name)
        effect = placed.queue.submit(Stream(commands, *marks))
        at, go = self.layout.submits + 3 * number, self._go()
        count = go.where(self._input(at + 1), UOp.const(0, dtypes.int64))
        values = (self._input(at + 2), self._input(at), count, go)
        meant = dict(zip(marks, values, strict=True))
        for node in effect.toposort():
            if node.op is Ops.PARAM and node.tag is not None and node not in meant:
                meant[node] = node.after(done)
        return effect.substitute(meant)


def _word(storage: UOp, index: int) -> UOp:
    return storage.index(UOp.const(index)).load()


def _store(storage: UOp, index: int, value: UOp, gate: UOp | None = None) -> UOp:
    return storage.index(UOp.const(index)).store(value, gate)
