"""Which writes were recorded: of a call of a function, for what must be done when it returns; and
by storage, for those who use storage without a schedule.

A write is recorded as a new state of its storage. It is pending until a tensor that depends on it
is realized.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from tg_core.device import buffer_of
from tg_core.device.storage import slot_mark
from tg_core.tensor.registry import (
    live_before,
    live_lock,
    live_tensors,
    note_change,
    serial_mark,
)
from tg_core.tensor.shard_states import parts_of
from tg_core.tensor.states import is_realized, storage_base
from tg_core.uop.graph import substitute_many, toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tg_core.tensor.tensor import Tensor

__all__ = [
    "CallWrites",
    "bases_of",
    "captured_call",
    "note_write",
    "noted_storage",
    "rebind",
    "storage_under",
]

noted_storage: set[int] = set()
"""Identities of the memory (`Buffer.root`) that may have pending writes: all that has some, and
some that had.
"""


class _Calls(threading.local):
    """The calls that are running in one thread."""

    def __init__(self) -> None:
        self.running: list[CallWrites] = []


_calls = _Calls()


class CallWrites:
    """A context that notes what the calling thread writes, and tells which tensors from before
    show it.

    Args:
        captured: what runs in it is captured.
    """

    def __init__(self, captured: bool = False) -> None:
        self.mark = 0
        self.is_captured = captured
        self._old: list[UOp] = []
        self.rebound: list[tuple[weakref.ref[Tensor], UOp]] = []
        """Tensors that got another node than a write gives them, each with the one it had."""
        self._slots: set[int] = set()
        self._first_new = 0
        self._computed: dict[int, tuple[weakref.ref[Tensor], UOp]] = {}

    def __enter__(self) -> CallWrites:
        self.mark = serial_mark()
        self._first_new = slot_mark()
        if self.is_captured:
            order = toposort([t.uop for t in live_tensors()], _unbound, enter_calls=False)
            self._old = [node for node in order if node.op is Ops.AFTER]
        _calls.running.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _calls.running.remove(self)

    @property
    def storage(self) -> frozenset[int]:
        """Slots of the BUFFER nodes from before that were written."""
        return frozenset(slot for slot in self._slots if slot < self._first_new)

    @property
    def old_states(self) -> set[UOp]:
        """The states that were pending before a captured call, as far as they still are."""
        return set(self._old)

    def note_replaced(self, replaced: Mapping[UOp, UOp]) -> None:
        """Note what nodes of live tensors became."""
        if self._old:
            nodes = substitute_many(self._old, replaced)
            self._old = [node for node in nodes if node.op is Ops.AFTER]

    def older(self) -> list[Tensor]:
        """Return the live tensors that were there before the call."""
        return live_before(self.mark)

    def pending(self) -> list[Tensor]:
        """Return the tensors from before whose values wait for what was written or computed."""
        if not self._slots and not self.rebound:
            return []
        rebound = {id(tensor) for tensor, _ in self.rebound_alive()}
        return [
            tensor
            for tensor in self.older()
            if not is_realized(tensor.uop) and (id(tensor) in rebound or self.writes_to(tensor.uop))
        ]

    def rebound_alive(self) -> list[tuple[Tensor, UOp]]:
        """Return the tensors that were bound to other nodes and are alive, with their old nodes."""
        found: dict[int, tuple[Tensor, UOp]] = {}
        for entry, old in self.rebound:
            tensor = entry()
            if tensor is not None:
                found.setdefault(id(tensor), (tensor, old))
        return list(found.values())

    def note_computed(self, tensor: Tensor) -> None:
        """Note that the call computes a tensor from before as a part of something."""
        self._computed.setdefault(id(tensor), (weakref.ref(tensor), tensor.uop))

    def computed_alive(self) -> list[tuple[Tensor, UOp]]:
        """Return the tensors from before that the call computed and that are alive, each with the
        node it had then.
        """
        found = ((entry(), node) for entry, node in self._computed.values())
        return [(tensor, node) for tensor, node in found if tensor is not None]

    def note_slot(self, slot: int) -> None:
        """Note that storage was written."""
        self._slots.add(slot)

    def note_rebound(self, tensor: Tensor) -> None:
        """Note that a tensor is about to get another node."""
        self.rebound.append((weakref.ref(tensor), tensor.uop))

    def writes_to(self, node: UOp) -> bool:
        """Tell whether the call wrote the storage that a value waits for."""
        return any(
            base.op is Ops.AFTER and storage_under(base).arg.slot in self._slots
            for base in bases_of(node)
        )


def captured_call() -> CallWrites | None:
    """Return the captured call that is running in this thread."""
    for call in _calls.running:
        if call.is_captured:
            return call
    return None


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def bases_of(node: UOp) -> Iterator[UOp]:
    """Yield what is under the views of a value, for each device that it is on."""
    for part in parts_of([node]):
        base = storage_base(part)
        if base.op is Ops.MULTI:
            yield from map(storage_base, base.src)
        else:
            yield base


def storage_under(state: UOp) -> UOp:
    """Return the storage, or parameter, under the pending writes of a state."""
    while state.op is Ops.AFTER:
        state = storage_base(state.src[0])
    return state


def note_write(base: UOp) -> None:
    """Note that a write to a state is about to be recorded. The caller holds `live_lock`."""
    storage = storage_under(base)
    buffer = buffer_of(storage)
    if buffer is None:
        return
    noted_storage.add(id(buffer.root))
    # what was storage is computed now, from other storage maybe
    note_change()
    for call in _calls.running:
        call.note_slot(storage.arg.slot)


def rebind(tensor: Tensor, node: UOp) -> None:
    """Give a tensor another node than a write gives it."""
    with live_lock:
        for call in _calls.running:
            call.note_rebound(tensor)
        note_change()
        tensor.uop, tensor._family = node, None
