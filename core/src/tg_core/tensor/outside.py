"""Storage that captured calls and replays share with the rest of the program.

What the program left pending, or reads lazily, is no part of a capture: it is done before, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import buffer_of
from tg_core.engine.capture import Unrecorded
from tg_core.tensor.readers import (
    lazy_readers,
    readers_among,
    replace_storage,
    storage_in,
    storage_of,
)
from tg_core.tensor.realize import Pending, realize_tensors, run_pending
from tg_core.tensor.registry import live_lock, live_tensors, note_change
from tg_core.tensor.states import is_realized, pending_storage, storage_base
from tg_core.tensor.tensor import Tensor
from tg_core.tensor.writes import bases_of, noted_storage, storage_under
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tg_core.tensor.writes import CallWrites

__all__ = ["keep_readers", "settle_outside", "settle_writes"]


def settle_outside(call: CallWrites, tensors: Sequence[Tensor]) -> None:
    """Do what must not be done at each replay, before a captured call computes tensors: earlier
    writes that they depend on, and copies for tensors from before of what is overwritten. The
    caller holds `live_lock`.

    Args:
        call: the captured call.
        tensors: what it is about to compute.
    """
    old = call.old_states
    order = toposort([t.uop for t in tensors], _unbound, enter_calls=False)
    states = _newest(node for node in order if node in old)
    if states:
        with Unrecorded():
            call.note_replaced(run_pending([Tensor._from_uop(node) for node in states]))
        order = toposort([t.uop for t in tensors], _unbound, enter_calls=False)
    _note_computed(call, order)
    memory = Pending([t.uop for t in tensors]).overwritten()
    if not memory:
        return
    rebound = {id(tensor) for tensor, _ in call.rebound_alive()}
    # what the call itself gave a value to is a part of the capture
    others = (t for t in call.older() if id(t) not in rebound and not call.writes_to(t.uop))
    readers = readers_among(others, memory)
    if readers:
        with Unrecorded():
            _copy_for(readers, memory)


def _note_computed(call: CallWrites, order: Sequence[UOp]) -> None:
    """Note which tensors from before a call computes.

    They are not realized: weights that are unpacked where they are used would fill the memory.
    """
    nodes = set(order)
    rebound = {id(tensor) for tensor, _ in call.rebound_alive()}
    for tensor in call.older():
        base = storage_base(tensor.uop)
        if base not in nodes or id(tensor) in rebound or not storage_of(base):
            continue
        if not is_realized(base) and not any(n.op is Ops.AFTER for n in bases_of(base)):
            call.note_computed(tensor)


def settle_writes(memory: Collection[int]) -> None:
    """Realize every pending write to some memory.

    Args:
        memory: identities of `Buffer.root`.
    """
    with live_lock:
        states = _pending_states(live_tensors())
        wanted = _newest(node for node in states if _memory_of(node) in memory)
        realize_tensors([Tensor._from_uop(node) for node in wanted])
        noted_storage.clear()
        noted_storage.update(map(_memory_of, _pending_states(live_tensors())))


def keep_readers(memory: Collection[int]) -> None:
    """Give copies to the tensors that read some memory lazily, which is going to be overwritten.

    Args:
        memory: identities of `Buffer.root`.
    """
    with live_lock:
        readers = lazy_readers(memory)
        if readers:
            _copy_for(readers, memory)


def _copy_for(readers: Sequence[Tensor], memory: Collection[int]) -> None:
    storage = dict.fromkeys(n for t in readers for n in storage_in(storage_of(t.uop), memory))
    copies = [Tensor._from_uop(_copy_of(node)) for node in storage]
    run_pending(copies)
    kept = {node: copy.uop for node, copy in zip(storage, copies, strict=True)}
    note_change()
    replace_storage(readers, kept)


def _copy_of(storage: UOp) -> UOp:
    device = storage.device
    return pending_storage(storage, device if isinstance(device, str) else None)


def _pending_states(tensors: Iterable[Tensor]) -> list[UOp]:
    """Return the pending states that tensors depend on, in topological order."""
    lazy = [t.uop for t in tensors if not is_realized(t.uop)]
    order = toposort(lazy, _unbound, enter_calls=False)
    return [node for node in order if node.op is Ops.AFTER]


def _newest(states: Iterable[UOp]) -> list[UOp]:
    """Return the states that none of the others follows."""
    found = dict.fromkeys(states)
    followed = {node.src[0] for node in found}
    return [node for node in found if node not in followed]


def _memory_of(state: UOp) -> int:
    buffer = buffer_of(storage_under(state))
    return 0 if buffer is None else id(buffer.root)


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND
