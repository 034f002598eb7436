"""Tensors that a captured function gives another value without writing to their storage, such as
by `replace` or by setting items at positions in a tensor.

Those from outside are arguments and results of each replay that the caller does not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg_core.errors import JitError
from tg_core.jit_outside import Overlap
from tg_core.tensor.readers import storage_of
from tg_core.tensor.realize import realize_tensors
from tg_core.tensor.registry import live_lock, note_change
from tg_core.tensor.states import is_realized
from tg_core.tensor.tensor import Tensor
from tg_core.tensor.writes import bases_of
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_core.device import Buffer
    from tg_core.jit_inputs import Inputs
    from tg_core.jit_quick import QuickForm, QuickInputs
    from tg_core.tensor.writes import CallWrites

__all__ = ["OUTSIDE", "Rebound", "StateForm", "find_rebound", "is_pinned"]

OUTSIDE = "tensors from outside"
"""Name under which tensors from outside are among the arguments."""


_TWICE = (
    "jit: an argument is a tensor to which the function also gives another value from outside of"
    " its arguments; use it in one of both ways"
)


class Rebound:
    """The tensors that a capture binds to other nodes.

    Args:
        outside: tensors from outside of the arguments.
        numbers: of tensors among the arguments.
    """

    def __init__(self, outside: Sequence[Tensor], numbers: Sequence[int]) -> None:
        self.outside, self.numbers = list(outside), list(numbers)

    def __bool__(self) -> bool:
        return bool(self.outside or self.numbers)

    def arguments(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return named arguments with the tensors from outside."""
        return {**kwargs, OUTSIDE: self.outside} if self.outside else kwargs

    def tensors(self, inputs: Inputs) -> list[Tensor]:
        """Return the tensors in a call."""
        return [*self.outside, *(inputs.originals[number] for number in self.numbers)]

    def check_apart(self, inputs: Inputs) -> None:
        """Look whether an argument is a tensor that gets another value from outside.

        Raises:
            Overlap: it is one.
        """
        known = set(map(id, self.outside))
        given = inputs.originals[: len(inputs.originals) - len(self.outside)]
        if any(id(tensor) in known for tensor in given):
            raise Overlap(_TWICE)

    @staticmethod
    def bind(tensors: Sequence[Tensor], nodes: Sequence[UOp]) -> None:
        """Let tensors show nodes."""
        with live_lock:
            note_change()
            for tensor, node in zip(tensors, nodes, strict=True):
                tensor.uop = node


class StateForm:
    """A form of arguments that some storage must be in, and that takes tensors from outside.

    Args:
        form: of all arguments.
        outside: tensors from outside.
        pinned: memory that arguments must have, by number of the input.
    """

    def __init__(
        self, form: QuickForm, outside: Sequence[Tensor], pinned: dict[int, Buffer]
    ) -> None:
        self.form, self.outside, self.pinned = form, list(outside), pinned

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> QuickInputs | None:
        """Return what a replay takes of a call, None when it has to go the long way."""
        if self.outside:
            kwargs = {**kwargs, OUTSIDE: self.outside}
        found = self.form.match(args, kwargs)
        if found is None or not is_pinned(found[1], self.pinned):
            return None
        arguments = len(found[0]) - len(self.outside)
        if not set(found[0][:arguments]).isdisjoint(found[0][arguments:]):
            # it may be the same tensor
            return None
        return found


def is_pinned(buffers: Sequence[Buffer], pinned: dict[int, Buffer]) -> bool:
    """Tell whether arguments have the memory that they had at capture.

    Args:
        buffers: of the arguments.
        pinned: at capture, by number.
    """
    return all(
        buffers[slot].root is kept.root and buffers[slot].offset == kept.offset
        for slot, kept in pinned.items()
    )


def find_rebound(writes: CallWrites, inputs: Inputs, first_new: int) -> Rebound | None:
    """Return the tensors that a captured call rebound; those from outside become inputs with what
    they showed before it.

    Args:
        writes: of the call.
        inputs: of the call.
        first_new: above the slots of storage that was there before the call.

    Returns:
        None when the call is none to be replayed: it gave storage to tensors that had none, other
        storage to a tensor that shared it, or another node to one that it computed.

    Raises:
        JitError: a tensor that was rebound from outside is an argument, too.
    """
    older = writes.older()
    swapped = {id(tensor): number for number, tensor in enumerate(inputs.swapped)}
    known = {id(tensor) for tensor in older}
    outside: list[Tensor] = []
    numbers: list[int] = []
    before: list[UOp] = []
    for tensor, old in writes.rebound_alive():
        if id(tensor) in swapped:
            numbers.append(swapped[id(tensor)])
        elif id(tensor) in known and _storage(tensor.uop) != _storage(old):
            outside.append(tensor)
            before.append(old)
    # first of all: the function was given another tensor than the one that it bound
    given = {id(t) for t, s in zip(inputs.originals, inputs.swapped, strict=True) if t is not s}
    if not given.isdisjoint(map(id, outside)):
        raise JitError(_TWICE)
    if not all(map(is_realized, before)):
        return None
    if any(tensor.uop is not node for tensor, node in writes.computed_alive()):
        return None
    settled = {*map(id, outside), *(id(inputs.swapped[number]) for number in numbers)}
    for tensor in older:
        new = any(base.arg.slot >= first_new for base in _storage(tensor.uop))
        if new and id(tensor) not in settled:
            return None
    if outside and _settle_computed(writes, before):
        return None
    others = {b for t in older if id(t) not in settled for b in _storage(t.uop)}
    others.update(t.buffer for t in inputs.tensors)
    for number, old in enumerate(before):
        inputs.add(f"{OUTSIDE}[{number}]", Tensor._from_uop(old))
        known_bases = {t.buffer for t in inputs.of(len(inputs.originals) - 1)}
        if known_bases != _storage(old) or not known_bases.isdisjoint(others):
            return None
    return Rebound(outside, numbers)


def _settle_computed(writes: CallWrites, before: Sequence[UOp]) -> bool:
    """Realize what a call computed from storage that replays take for what it becomes; returns
    whether there was any.
    """
    given = {base for node in before for base in _storage(node)}
    reading = [t for t, _ in writes.computed_alive() if not given.isdisjoint(storage_of(t.uop))]
    realize_tensors(reading)
    return bool(reading)


def _storage(node: UOp) -> set[UOp]:
    """Return the BUFFER nodes that a value is a view of."""
    return {base for base in bases_of(node) if base.op is Ops.BUFFER}
