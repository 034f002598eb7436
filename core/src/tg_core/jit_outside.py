"""Memory that a capture uses from outside of its arguments, and what each replay owes to the rest
of the program because of it.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tg_core.engine.capture import shared_memory
from tg_core.errors import JitError
from tg_core.tensor.registry import changes, live_lock, live_tensors
from tg_core.tensor.states import is_realized
from tg_core.tensor.writes import bases_of, noted_storage, storage_under
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tg_core.device import Buffer
    from tg_core.jit_gradients import Gradients
    from tg_core.tensor import Tensor

__all__ = ["OutsideMemory", "Overlap", "Stale"]


class Overlap(JitError):
    """Memory that a replay writes is used twice in a way that the capture knows nothing of."""


class Stale(JitError):
    """Tensors from outside show other storage, or have other gradients, than at capture."""


class OutsideMemory:
    """What a capture uses from outside, and what it writes.

    Args:
        used: storage from outside that it reads or writes.
        written: what of it is written.
        slots: numbers of the arguments that it writes.
        names: of the arguments.
        nodes: the BUFFER nodes of what is used, to find the tensors that show it.
        computed: tensors from outside that are computed anew at each replay, with their nodes.
        gradients: that tensors from outside must have.
    """

    def __init__(
        self,
        used: Iterable[Buffer],
        written: Iterable[Buffer],
        slots: Iterable[int],
        names: Sequence[str],
        nodes: Collection[UOp] = (),
        computed: Iterable[tuple[Tensor, UOp]] = (),
        gradients: Gradients | None = None,
    ) -> None:
        self.used, self.written = list(used), list(written)
        self._tensors: list[_Shown | _Computed] = [
            *_tensors_of(nodes),
            *(_Computed(tensor, node) for tensor, node in computed),
        ]
        self._changes = changes()
        self.slots = frozenset(slots)
        self._names = names
        self._used_roots = frozenset(id(b.root) for b in self.used)
        self._written_roots = frozenset(id(b.root) for b in self.written)
        self._writes = bool(self.slots or self.written)
        self._gradients = gradients or None
        self.is_idle = not self.used and not self._writes and not gradients
        """Whether nothing needs to be done."""

    def prepare(self, buffers: Sequence[Buffer]) -> None:
        """Do what comes before a replay: pending writes to what it uses, and copies for those who
        read lazily what it overwrites.

        Args:
            buffers: storage of the arguments.

        Raises:
            Overlap: an argument that is written is used in another way, too.
            Stale: a tensor from outside shows other storage, or has another gradient, than at
                capture.
        """
        if self._gradients is not None and not self._gradients.are_as_found():
            raise Stale("jit: tensors from outside were given other gradients since the capture")
        if noted_storage and not noted_storage.isdisjoint(self._used_roots):
            # most programs leave nothing pending
            from tg_core.tensor.outside import settle_writes

            settle_writes(self._used_roots)
        if changes() != self._changes:
            self._check_tensors()
        if not self._writes:
            return
        self._check_apart(buffers)
        from tg_core.tensor.outside import keep_readers

        if self.slots:
            keep_readers(self._written_roots.union(id(buffers[slot].root) for slot in self.slots))
        else:
            keep_readers(self._written_roots)

    def _check_tensors(self) -> None:
        with live_lock:
            for shown in self._tensors:
                shown.check()
            self._changes = changes()

    def _check_apart(self, buffers: Sequence[Buffer]) -> None:
        for slot in self.slots:
            written = buffers[slot]
            for other, buffer in enumerate(buffers):
                if other != slot and written.overlaps(buffer):
                    raise Overlap(str(shared_memory(self._names[slot], self._names[other])))
        for slot, buffer in enumerate(buffers):
            if id(buffer.root) in self._used_roots:
                others = self.used if slot in self.slots else self.written
                if any(map(buffer.overlaps, others)):
                    raise Overlap(str(shared_memory(self._names[slot], None)))


class _Shown:
    """A tensor from outside, and the slots of the storage that it shows."""

    __slots__ = ("_node", "_slots", "_tensor")

    def __init__(self, tensor: Tensor, slots: list[int]) -> None:
        self._tensor = weakref.ref(tensor)
        self._slots = slots
        self._node = _settled(tensor.uop)

    def check(self) -> None:
        """Look whether it still does.

        Raises:
            Stale: it does not.
        """
        tensor = self._tensor()
        if tensor is None or tensor.uop is self._node:
            return
        if _storage_of(tensor) != self._slots:
            raise Stale(
                f"jit: a tensor of shape {tensor.shape} from outside was given other storage since"
                " the capture"
            )
        self._node = _settled(tensor.uop)


class _Computed:
    """A tensor from outside that a capture computes anew each time, as it did when captured.

    Where what it reads is overwritten, it gets a copy of that, of which the capture knows nothing.
    """

    __slots__ = ("_node", "_tensor")

    def __init__(self, tensor: Tensor, node: UOp) -> None:
        self._tensor, self._node = weakref.ref(tensor), weakref.ref(node)

    def check(self) -> None:
        """Look whether its value still comes about as it did.

        Raises:
            Stale: it does not.
        """
        tensor = self._tensor()
        if tensor is not None and tensor.uop is not self._node():
            raise Stale(
                f"jit: a tensor of shape {tensor.shape} from outside, which was to be computed, got"
                " another value since the capture"
            )


def _settled(node: UOp) -> UOp | None:
    """Return a node that holds nothing but storage, None for others: values that wait for a write
    would be kept.
    """
    return node if is_realized(node) else None


def _tensors_of(nodes: Collection[UOp]) -> list[_Shown]:
    """Return the live tensors that show storage."""
    if not nodes:
        return []
    slots = {node.arg.slot for node in nodes}
    found = ((tensor, _storage_of(tensor)) for tensor in live_tensors())
    return [_Shown(tensor, shown) for tensor, shown in found if not slots.isdisjoint(shown)]


def _storage_of(tensor: Tensor) -> list[int]:
    storage = map(storage_under, bases_of(tensor.uop))
    return [node.arg.slot for node in storage if node.op is Ops.BUFFER]
