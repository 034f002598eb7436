"""A copy that only a write reads -> no copy: the value is written straight to where it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import buffer_of
from tg_core.schedule.views import contiguous_view, is_whole_view
from tg_core.uop.graph import toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Sequence

_PASSING = (Ops.RESHAPE, Ops.DETACH, Ops.CONTIGUOUS)
"""Operations through which a copy is still a copy, element by element."""


def write_through_copies(sink: UOp, kept: Sequence[UOp]) -> UOp:
    """Return a SINK of states without the storage of copies that are read once, to be written
    elsewhere.

    Args:
        sink: the states to reach.
        kept: what live tensors hold once they are reached; storage they read stays.
    """
    order = toposort((sink,), _unbound, enter_calls=False)
    copies = {n: c for n in order if n.op is Ops.STORE and (c := _copy_under(n.src[1])) is not None}
    if not copies:
        return sink
    readers: dict[UOp, int] = {}
    for node in order:
        for source in dict.fromkeys(node.src):
            readers[source] = readers.get(source, 0) + 1
    held = set(toposort(kept, _unbound, enter_calls=False))
    replaced: dict[UOp, UOp] = {}
    for store, copy in copies.items():
        if copy.src[0] in held or not _is_read_once(store.src[1], copy, readers):
            continue
        value = _reshaped(copy.src[1].src[1], store.src[1])
        if value.op is not Ops.COPY or contiguous_view(store.src[0]) is not None:
            replaced[store.src[1]] = value
    return sink.substitute(replaced)


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


def _copy_under(value: UOp) -> UOp | None:
    """Return the state that a value shows, when it is a first write of all of storage that has no
    memory yet.
    """
    while value.op in _PASSING:
        value = value.src[0]
    if value.op is not Ops.AFTER or len(value.src) != 2 or value.src[1].op is not Ops.STORE:
        return None
    buffer, store = value.src
    target = store.src[0]
    if len(store.src) != 2 or not is_whole_view(target) or target.base is not buffer:
        return None
    storage = buffer_of(buffer)
    return value if storage is not None and not storage.is_allocated() else None


def _is_read_once(value: UOp, copy: UOp, readers: dict[UOp, int]) -> bool:
    """Tell whether a write is all that reads a copy."""
    while readers[value] == 1:
        if value is copy:
            return True
        value = value.src[0]
    return False


def _reshaped(value: UOp, like: UOp) -> UOp:
    """Return a value in the shape of another; a COPY stays one."""
    if value.shape == like.shape:
        return value
    if value.op is Ops.COPY:
        return UOp(Ops.COPY, (_reshaped(value.src[0], like),), value.arg)
    return value._movement(Ops.RESHAPE, tuple(like.shape))
