"""Replaying captured schedules on other storage and other values of variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.device import Buffer, buffer_of
from tg_core.engine.compile_calls import compile_calls
from tg_core.engine.realize import link
from tg_core.engine.written import written_slots
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_core.engine.capture import Capture


@dataclass(frozen=True)
class Slot:
    """An argument that changes from run to run: number `index` of the replay's buffers."""

    index: int


@dataclass(frozen=True)
class Bound:
    """A variable that gets a value for each run."""

    variable: UOp
    captured: int
    """The value it had when it was captured."""


Argument = Slot | Bound | Buffer


@dataclass
class Replay:
    """Captured schedules with every argument named: by slot, by variable, or fixed storage."""

    entries: list[tuple[UOp, list[Argument]]]

    @staticmethod
    def of(capture: Capture, slots: Mapping[UOp, int]) -> Replay:
        """Make a replay of what a capture recorded.

        Args:
            capture: the record.
            slots: the BUFFER nodes that change from run to run, each with its number.
        """

        def argument(node: UOp) -> Argument:
            if node.op is Ops.BIND:
                variable, value = node.unbind()
                return Bound(variable, value)
            if node in slots:
                return Slot(slots[node])
            buffer = buffer_of(node)
            assert buffer is not None
            return buffer

        return Replay(
            [(linear, [argument(a) for a in arguments]) for linear, arguments in capture.entries]
        )

    @property
    def kernels(self) -> int:
        """How many kernels and copies a run takes."""
        return sum(len(linear.src) for linear, _ in self.entries)

    def compiled(self) -> Replay:
        """Return the replay with every kernel in compiled form, which needs no compiler to run."""
        return Replay([(compile_calls(linear), arguments) for linear, arguments in self.entries])

    def written(self) -> tuple[set[int], list[Buffer]]:
        """Return the slots and the fixed storage that a run writes."""
        slots: set[int] = set()
        fixed: dict[int, Buffer] = {}
        for linear, arguments in self.entries:
            for slot in written_slots(linear):
                argument = arguments[slot]
                if isinstance(argument, Slot):
                    slots.add(argument.index)
                elif isinstance(argument, Buffer):
                    fixed[id(argument)] = argument
        return slots, list(fixed.values())

    def run(self, buffers: Sequence[Buffer], value_of: Callable[[Bound], int]) -> None:
        """Run everything once.

        Args:
            buffers: storage by slot.
            value_of: gives the value of each variable for this run.
        """
        for linear, arguments in self.entries:
            resolved: list[Buffer | int] = []
            for argument in arguments:
                if isinstance(argument, Slot):
                    resolved.append(buffers[argument.index])
                else:
                    resolved.append(value_of(argument) if isinstance(argument, Bound) else argument)
            link(linear).run(resolved)
