"""Run a LINEAR of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Buffer
from tg_core.engine.compile_calls import compile_calls
from tg_core.engine.run import Run
from tg_core.engine.steps import Step, step_of
from tg_core.hcq import batch, parametrize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.uop.ops import UOp

_linked: dict[UOp, LinkedLinear] = {}
_LINKED_SIZE = 4096

_GIVEN: Sequence[int | UOp] = range(1 << 31)
"""What parameters of a schedule stand for: the arguments of the same numbers."""

LEAST_BATCH = 2
"""Kernels that a batch saves time for when their storage changes from run to run."""


class LinkedLinear:
    """A compiled schedule, ready to run on any storage.

    The first run takes the calls one by one. Linking batches costs more than one run can save, so
    that is left to the second.
    """

    def __init__(self, linear: UOp) -> None:
        compiled = compile_calls(linear)
        self.linear, self.parameters = parametrize([(compiled, _GIVEN, _declared)])
        # Calls for hardware queues go there in batches from the first run on.
        first = batch(self.linear, len(self.linear.src) + 1)
        self.steps: list[Step] = [step_of(call, {}, once=True) for call in first.src]
        self.runs = 0

    def start(self, arguments: Sequence[Buffer | int]) -> Run:
        """Return a run of the steps, of which none was made yet.

        Args:
            arguments: buffers and values of variables, by parameter slot.
        """
        if self.runs == 1 and len(self.steps) >= LEAST_BATCH:
            self.steps = [step_of(call, {}) for call in batch(self.linear, LEAST_BATCH).src]
        self.runs += 1
        own = [
            arguments[p] if isinstance(p, int) else Buffer(p.arg.device, p.arg.size, p.dtype)
            for p in self.parameters
        ]
        return Run(self.steps, own)


def clear_linked() -> None:
    """Forget every compiled schedule of this process that no one else holds."""
    _linked.clear()


def _declared(buffer: UOp) -> int | UOp:
    return buffer


def link(linear: UOp) -> LinkedLinear:
    """Compile and load a schedule; the result is kept for the next time."""
    found = _linked.get(linear)
    if found is None:
        found = LinkedLinear(linear)
        if len(_linked) >= _LINKED_SIZE:
            _linked.pop(next(iter(_linked)))
        _linked[linear] = found
    return found


def run_linear(linear: UOp, arguments: Sequence[Buffer | int]) -> None:
    """Compile, link and run a schedule.

    Args:
        linear: LINEAR of calls over the parameters of a call's body.
        arguments: buffers and values of variables, by parameter slot.

    Raises:
        CompileError: a kernel does not compile.
        DeviceError: a device fails.
    """
    link(linear).start(arguments).finish()
