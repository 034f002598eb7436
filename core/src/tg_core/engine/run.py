"""One run of linked steps, which can be taken up where it was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.engine.steps import Arguments, Step
    from tg_core.hcq import Marks

__all__ = ["Run"]


class Run:
    """Steps, the storage they run on, and how many of them were made.

    Args:
        steps: in order.
        arguments: storage and values of variables by slot of what the steps were linked from.
        marks: where each step leaves its mark; empty.
    """

    def __init__(
        self, steps: Sequence[Step], arguments: Arguments, marks: Marks | None = None
    ) -> None:
        self.work = [(step, arguments) for step in steps]
        self.marks: Marks = [] if marks is None else marks

    @property
    def is_done(self) -> bool:
        """Whether every step was made."""
        return len(self.marks) >= len(self.work)

    def finish(self) -> None:
        """Make the steps that were not made yet. May be called again after any exception."""
        while not self.is_done:
            number = len(self.marks)
            step, arguments = self.work[number]
            instead = step.run(arguments, self.marks)
            if instead is not None:
                self.work[number : number + 1] = instead
