"""The values that the variables of a replay have in one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.tensor.random import COUNTER, SEED_HIGH, SEED_LOW, random_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.engine.replay import Bound
    from tg_core.uop.ops import UOp

__all__ = ["Draws", "VariableValues"]


@dataclass
class Draws:
    """The random numbers a run takes: counters at its start when it was captured, and blocks
    drawn.
    """

    start: dict[str, int]
    blocks: dict[str, int]

    def advance(self) -> None:
        """Let the streams go on by what one run draws."""
        _, drawn = random_state()
        for device, blocks in self.blocks.items():
            drawn[device] = drawn.get(device, 0) + blocks


class VariableValues:
    """What the variables of a replay stand for: arguments, or random numbers, which go on from
    where the streams are.

    Args:
        bounds: the variables.
        draws: of the capture.
    """

    def __init__(self, bounds: Sequence[Bound], draws: Draws) -> None:
        self._captured = {bound: bound.captured for bound in bounds}
        self._named: dict[str, list[Bound]] = {}
        self._seeds: list[tuple[Bound, int]] = []
        self._counters: list[tuple[Bound, str, int]] = []
        for bound in bounds:
            name: str = bound.variable.arg.name
            if name in (SEED_LOW, SEED_HIGH):
                self._seeds.append((bound, 32 if name == SEED_HIGH else 0))
            elif name.startswith(COUNTER):
                device = name.split(":", 1)[1]
                moved = bound.captured - draws.start.get(device, 0)
                # what was drawn before the call stays what it is
                if moved >= 0:
                    self._counters.append((bound, device, moved))
            else:
                self._named.setdefault(name, []).append(bound)

    def of(self, given: Sequence[UOp]) -> dict[Bound, int]:
        """Return the value of every variable.

        Args:
            given: bound variables among the arguments.
        """
        if not self._captured:
            return self._captured
        values = self._captured.copy()
        for node in given:
            variable, value = node.unbind()
            for bound in self._named.get(variable.arg.name, ()):
                values[bound] = value
        if self._seeds or self._counters:
            seed, drawn = random_state()
            for bound, shift in self._seeds:
                values[bound] = (seed >> shift) & 0xFFFFFFFF
            for bound, device, moved in self._counters:
                values[bound] = drawn.get(device, 0) + moved
        return values
