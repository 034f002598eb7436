"""Work that writes in place and was cut off in the middle: by Ctrl-C, or by memory that ran out.

What was written must not be written again, and tensors must not go on from half of it. So the
work is kept, with how far it came, and is finished when next a tensor is realized that depends on
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.tensor.moves import apply_moves, moves_of_live
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_core.engine.run import Run
    from tg_core.tensor.tensor import Tensor

__all__ = ["carry_out", "finish_interrupted"]


class _Work:
    """A run, and what nodes of tensors become when it is done."""

    def __init__(self, run: Run, replaced: Mapping[UOp, UOp]) -> None:
        self.run, self.replaced = run, replaced
        self.is_settled = False

    def finish(self) -> None:
        """Make what is left, and let tensors see it. May be called again after any exception."""
        self.run.finish()
        if not self.is_settled:
            # of what is alive now, which may have come after an interrupt
            apply_moves(moves_of_live(self.replaced), (self, "is_settled", True))


_works: list[_Work] = []
"""In the order they were begun. Whoever changes it holds `live_lock`."""


def carry_out(run: Run, replaced: Mapping[UOp, UOp]) -> None:
    """Make a run that writes storage which has values, and let tensors see what it did.

    Args:
        run: of which nothing was made yet.
        replaced: what nodes become: the states that the run makes, and what is read of earlier
            ones.
    """
    work = _Work(run, replaced)
    # noted before anything is written, and forgotten after all is: whatever happens in between,
    # the note is there
    _works.append(work)
    try:
        work.finish()
    except BaseException:
        if not run.marks:
            _works.remove(work)
        raise
    _works.remove(work)


def finish_interrupted(tensors: Sequence[Tensor]) -> None:
    """Finish the work that tensors depend on, and forget work that none depends on any more."""
    for work in _works.copy():
        if work.is_settled or not moves_of_live(work.replaced):
            _works.remove(work)
            continue
        # read anew for each: the work before has changed what tensors hold
        order = toposort([tensor.uop for tensor in tensors], _unbound, enter_calls=False)
        if any(node in work.replaced for node in order):
            work.finish()
            _works.remove(work)


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND
