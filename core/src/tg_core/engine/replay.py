"""Replaying captured schedules on other storage and other values of variables."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.config import CHECK_INDEX
from tg_core.device import Buffer, buffer_of
from tg_core.dtype import dtypes
from tg_core.engine.compile_calls import compile_calls
from tg_core.engine.run import Run
from tg_core.engine.steps import BatchStep, QueueStep, Step, is_seen, step_of
from tg_core.engine.written import written_slots
from tg_core.errors import JitError
from tg_core.hcq import base_of, batch, host_program, parametrize
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_core.engine.capture import Capture
    from tg_core.engine.position_check import PositionCheck
    from tg_core.hcq import LinkedBatch, Marks


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
class _Linked:
    """All captured schedules as one sequence of steps."""

    steps: list[Step]
    batch: LinkedBatch | None
    """What the steps are, where they are just that."""
    arguments: list[Buffer | int]
    """By parameter slot; a placeholder where the value comes with each run."""
    slots: list[tuple[int, int]]
    """Parameter slots of storage that comes with each run, each with its number there."""
    bounds: list[tuple[int, Bound]]


@dataclass
class _Part:
    """What runs between two checks."""

    replay: Replay
    checks: list[PositionCheck]
    """What is checked after it."""


class Replay:
    """Captured schedules with every argument named: by slot, by variable, or fixed storage.

    At the first run they are joined into one sequence, in which launches batch across schedules;
    storage that the schedules declare is allocated once and kept. One thread runs at a time.

    Args:
        entries: each LINEAR with its arguments.
        checks: of computed positions, each with the number of entries before it.
    """

    def __init__(
        self,
        entries: list[tuple[UOp, list[Argument]]],
        checks: Sequence[tuple[int, PositionCheck]] = (),
    ) -> None:
        self.entries = entries
        self.checks = list(checks)
        self.lock = threading.RLock()
        self._linked: _Linked | None = None
        self._parts: list[_Part] | None = None
        self._running = False

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
            [(linear, [argument(a) for a in arguments]) for linear, arguments in capture.entries],
            [(n, c._replace(storage=argument(c.storage))) for n, c in capture.checks],
        )

    @property
    def kernels(self) -> int:
        """How many kernels and copies a run takes."""
        return sum(len(linear.src) for linear, _ in self.entries)

    def compiled(self) -> Replay:
        """Return the replay with every kernel in compiled form, which needs no compiler to run."""
        entries = [(compile_calls(linear), arguments) for linear, arguments in self.entries]
        return Replay(entries, self.checks)

    def host_programs(self) -> list[UOp]:
        """Return what the host programs of a run are compiled from."""
        linked = [p.replay._linked or p.replay.link() for p in self.parts()]
        steps = [step for part in linked for step in part.steps]
        queues = [step.linked.body for step in steps if isinstance(step, QueueStep)]
        return list(dict.fromkeys([host_program(), *queues]))

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

    def variables(self) -> list[Bound]:
        """Return the variables that a run takes, each once."""
        found = (a for _, arguments in self.entries for a in arguments if isinstance(a, Bound))
        return list(dict.fromkeys(found))

    def run(self, buffers: Sequence[Buffer], values: Mapping[Bound, int], marks: Marks) -> None:
        """Run everything once. The caller holds the lock.

        An interrupt that arrives in the middle is raised when the rest is done too: what replays
        write in place fits together then.

        Args:
            buffers: storage by slot.
            values: of the variables for this run.
            marks: get one more for each step that was made.

        Raises:
            JitError: a signal handler or finalizer calls the replay that it interrupts.
        """
        if self._running:
            raise JitError("jit: called again from within a replay that it interrupted")
        self._running = True
        try:
            if self.checks:
                self._run_parts(buffers, values, marks)
                return
            linked = self._linked
            if linked is None:
                linked = self._linked = self.link()
            arguments = linked.arguments.copy()
            for slot, index in linked.slots:
                arguments[slot] = buffers[index]
            for slot, bound in linked.bounds:
                arguments[slot] = values[bound]
            batch = linked.batch
            # by far the most captures are one batch
            if batch is None or is_seen() or not batch.run(arguments, marks):
                _run_whole(Run(linked.steps, arguments, marks))
        finally:
            self._running = False

    def parts(self) -> list[_Part]:
        """Return the replays between checks: just this one where there are none."""
        if not self.checks:
            return [_Part(self, [])]
        if self._parts is None:
            ends = sorted({number for number, _ in self.checks} | {len(self.entries)})
            starts = [0, *ends]
            self._parts = [
                _Part(Replay(self.entries[start:end]), [c for n, c in self.checks if n == end])
                for start, end in zip(starts, ends, strict=False)
            ]
        return self._parts

    def _run_parts(
        self, buffers: Sequence[Buffer], values: Mapping[Bound, int], marks: Marks
    ) -> None:
        """Run everything with the checks in between.

        Raises:
            IndexingError: a check fails; nothing that was to come after it is done.
        """
        for part in self.parts():
            if part.replay.entries:
                done: Marks = []
                try:
                    part.replay.run(buffers, values, done)
                finally:
                    marks.extend(done)
            if CHECK_INDEX.value:
                for check in part.checks:
                    found = check.storage
                    storage = buffers[found.index] if isinstance(found, Slot) else found
                    check.check(storage.numpy())

    def link(self) -> _Linked:
        """Join the schedules, compile and load their kernels, and give them storage."""
        shared = _shared_storage([linear for linear, _ in self.entries])
        joined, parameters = parametrize(
            [
                (linear, arguments, own.__getitem__)
                for (linear, arguments), own in zip(self.entries, shared, strict=True)
            ]
        )
        fixed = {i: p for i, p in enumerate(parameters) if isinstance(p, Buffer)}
        calls = batch(compile_calls(joined)).src
        steps = [step_of(call, fixed) for call in calls]
        return _Linked(
            steps,
            steps[0].linked if len(steps) == 1 and isinstance(steps[0], BatchStep) else None,
            [p if isinstance(p, Buffer) else 0 for p in parameters],
            [(i, p.index) for i, p in enumerate(parameters) if isinstance(p, Slot)],
            [(i, p) for i, p in enumerate(parameters) if isinstance(p, Bound)],
        )


def _run_whole(run: Run) -> None:
    """Make all steps, also when an interrupt arrives between two of them."""
    try:
        run.finish()
    except Exception:
        raise
    except BaseException:
        if run.marks:
            run.finish()
        raise


def _shared_storage(linears: Sequence[UOp]) -> list[dict[UOp, Argument]]:
    """Return storage for what each LINEAR declares. They run one after the other, so the n-th
    declaration of a device may be the same memory in all of them.
    """
    declared: list[dict[UOp, tuple[str, int]]] = []
    needed: dict[tuple[str, int], int] = {}
    for linear in linears:
        own: dict[UOp, tuple[str, int]] = {}
        count: dict[str, int] = {}
        for base in [base_of(a) for call in linear.src for a in call.src[1:]]:
            if base.op is Ops.BUFFER and base not in own:
                device: str = base.arg.device
                key = own[base] = (device, count.get(device, 0))
                count[device] = key[1] + 1
                needed[key] = max(needed.get(key, 0), base.arg.size * base.dtype.itemsize)
        declared.append(own)
    roots = {key: Buffer(key[0], nbytes, dtypes.uint8) for key, nbytes in needed.items()}
    return [
        {base: roots[key].view(base.arg.size, base.dtype, 0) for base, key in own.items()}
        for own in declared
    ]
