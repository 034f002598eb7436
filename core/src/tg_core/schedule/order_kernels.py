"""Order kernels by the states of storage they read and supersede.

A kernel that reads a state runs after the writes that produced it and before a write that
supersedes it. When that is impossible (two writes that each read what the other overwrites), a
reader gets a snapshot: a copy of the state taken before the write.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tg_core.errors import ScheduleError
from tg_core.schedule.lower_store_to_kernel import Kernel, lower_store_to_kernel
from tg_core.schedule.views import strip_bitcast, strip_state
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Step:
    """One call of the schedule before it is ordered: a kernel or a copy."""

    kernel: Kernel | None
    """None for a copy."""
    reads: list[UOp]
    """States read."""
    onto: list[UOp]
    """States superseded by this step's writes."""
    arguments: list[UOp]
    deps: list[UOp] = field(default_factory=list)
    """Effects that must have happened."""
    label: str = ""
    body: UOp | None = None
    """What a nested schedule calls, when that is neither a kernel of this schedule nor a copy."""


def _producers(state: UOp) -> list[UOp]:
    """Return the effects that a state depends on directly."""
    state = strip_bitcast(state)
    return list(state.src[1:]) if state.op is Ops.AFTER else []


class _Order:
    """Edges between steps, and the search for an order."""

    def __init__(self, steps: list[Step], of_effect: dict[UOp, list[int]]) -> None:
        self.steps = steps
        self.of_effect = of_effect
        self.before: list[set[int]] = [set() for _ in steps]
        self.required: list[set[int]] = [set() for _ in steps]
        """Of those before a step, the ones whose effects it needs; no snapshot changes that."""
        self.superseders: dict[UOp, list[int]] = {}
        for number, step in enumerate(steps):
            for state in step.onto:
                self.superseders.setdefault(strip_bitcast(state), []).append(number)
        for number in range(len(steps)):
            self.add_edges(number)

    def add_edges(self, number: int) -> None:
        step = self.steps[number]
        effects = [e for s in (*step.reads, *step.onto) for e in _producers(s)]
        for effect in (*effects, *step.deps):
            for earlier in self.of_effect.get(effect, ()):
                if earlier != number:
                    self.require(number, earlier)
        for state in step.reads:
            for later in self.superseders.get(strip_bitcast(state), ()):
                if later != number:
                    self.before[later].add(number)

    def require(self, number: int, earlier: int) -> None:
        self.before[number].add(earlier)
        self.required[number].add(earlier)

    def sort(self) -> list[Step]:
        """Return the steps in order; ties keep the order of the graph."""
        for group in self.of_effect.values():
            for earlier, number in itertools.pairwise(group):
                self.require(number, earlier)
        while True:
            order = self.try_sort()
            if len(order) == len(self.steps):
                return [self.steps[i] for i in order]
            self.break_cycle(set(range(len(self.steps))) - set(order))

    def try_sort(self) -> list[int]:
        after: list[list[int]] = [[] for _ in self.steps]
        waiting = [len(b) for b in self.before]
        for number, earlier in enumerate(self.before):
            for e in earlier:
                after[e].append(number)
        ready = [n for n, count in enumerate(waiting) if count == 0]
        heapq.heapify(ready)
        order = []
        while ready:
            number = heapq.heappop(ready)
            order.append(number)
            for later in after[number]:
                waiting[later] -= 1
                if waiting[later] == 0:
                    heapq.heappush(ready, later)
        return order

    def break_cycle(self, stuck: set[int]) -> None:
        """Give one reader of a state that a stuck step supersedes a snapshot of it."""
        for number in sorted(stuck):
            step = self.steps[number]
            for position, state in enumerate(step.reads):
                later = [
                    w
                    for w in self.superseders.get(strip_bitcast(state), ())
                    if w != number and w in stuck and number not in self.required[w]
                ]
                if later and state not in step.onto:
                    self.snapshot(number, position, later)
                    return
        names = sorted({repr(strip_state(s).arg) for n in stuck for s in self.steps[n].onto})
        raise ScheduleError(
            f"schedule: writes depend on each other in a cycle through {', '.join(names)}"
        )

    def snapshot(self, number: int, position: int, later: list[int]) -> None:
        step = self.steps[number]
        state = step.reads[position]
        size = int(state.shape[0])  # type: ignore[arg-type]  # storage has a static size
        copy = UOp.buffer(
            size, state.dtype, state.device if isinstance(state.device, str) else None
        )
        store = copy.store(state)
        kernels = lower_store_to_kernel(store)
        assert kernels is not None and len(kernels) == 1
        kernel = kernels[0]
        new = Step(kernel, [state], [copy], list(kernel.states), label="snapshot")
        self.steps.append(new)
        self.before.append(set())
        self.required.append(set())
        self.of_effect[store] = [len(self.steps) - 1]
        step.reads[position] = copy
        step.arguments = [copy if a is state else a for a in step.arguments]
        for writer in later:
            self.before[writer].discard(number)
        self.require(number, len(self.steps) - 1)
        self.add_edges(len(self.steps) - 1)
        # it may read another state that the same step supersedes
        self.add_edges(number)


def order_kernels(steps: Sequence[Step], of_effect: dict[UOp, list[int]]) -> list[Step]:
    """Return the steps in an order that keeps every value.

    Args:
        steps: in graph order.
        of_effect: the steps that carry out each STORE or CALL, in order.

    Raises:
        ScheduleError: no order exists, even with snapshots; names the buffers.
    """
    return _Order(list(steps), dict(of_effect)).sort()
