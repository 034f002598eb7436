"""Live tensors that read storage lazily, for those who overwrite it.

A tensor is its value when it was built: before storage is overwritten, who reads it lazily gets a
copy of what it holds.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tg_core.device import buffer_of
from tg_core.tensor.registry import changes, live_since, live_tensors, serial_mark
from tg_core.tensor.states import is_realized, is_virtual
from tg_core.tensor.writes import bases_of, storage_under
from tg_core.uop.graph import substitute_many, toposort
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tg_core.tensor.tensor import Tensor

__all__ = ["lazy_readers", "readers_among", "replace_storage", "storage_in", "storage_of"]

_STORAGE = "_storage"
"""Attribute of a node that holds the BUFFER nodes under it, found once."""


def storage_of(node: UOp) -> tuple[UOp, ...]:
    """Return the BUFFER nodes that a value is computed from."""
    if node.op is Ops.BUFFER:
        # not noted: it would hold itself
        return (node,)
    found: tuple[UOp, ...] | None = node.__dict__.get(_STORAGE)
    if found is None:
        order = toposort((node,), _unbound, enter_calls=False)
        found = tuple(n for n in order if n.op is Ops.BUFFER)
        node.__dict__[_STORAGE] = found
    return found


def _unbound(node: UOp) -> bool:
    return node.op is not Ops.BIND


class _LazyTensors:
    """The live tensors that are to be computed.

    After the first look, only tensors that came since are looked at, as long as none was written or
    bound to another value: computing makes no tensor lazy.
    """

    def __init__(self) -> None:
        self._found: list[weakref.ref[Tensor]] = []
        self._changes = -1
        self._mark = 0

    def now(self) -> list[Tensor]:
        """Return them as they are now. The caller holds `live_lock`."""
        seen, mark = changes(), serial_mark()
        if seen == self._changes:
            known = (entry() for entry in self._found)
            candidates = [t for t in known if t is not None] + live_since(self._mark)
        else:
            candidates = live_tensors()
        lazy = [t for t in candidates if not is_realized(t.uop) and not is_virtual(t.uop)]
        self._found = [weakref.ref(tensor) for tensor in lazy]
        self._changes, self._mark = seen, mark
        return lazy


_lazy = _LazyTensors()


def lazy_readers(memory: Collection[int]) -> list[Tensor]:
    """Return the live tensors that read some memory lazily. The caller holds `live_lock`.

    Args:
        memory: identities of `Buffer.root`.
    """
    return readers_among(_lazy.now(), memory)


def readers_among(tensors: Iterable[Tensor], memory: Collection[int]) -> list[Tensor]:
    """Return those of some tensors that are computed and read some memory; those that are the
    memory itself do not.

    Args:
        tensors: live ones.
        memory: identities of `Buffer.root`.
    """
    return [
        t
        for t in tensors
        if not is_realized(t.uop)
        and not _is_written(t.uop, memory)
        and any(True for _ in storage_in(storage_of(t.uop), memory))
    ]


def _is_written(node: UOp, memory: Collection[int]) -> bool:
    """Tell whether a value is some memory itself, with pending writes."""
    pending = (storage_under(base) for base in bases_of(node) if base.op is Ops.AFTER)
    return any(True for _ in storage_in(pending, memory))


def storage_in(nodes: Iterable[UOp], memory: Collection[int]) -> Iterable[UOp]:
    """Yield the BUFFER nodes whose memory is in a collection of identities."""
    for node in nodes:
        buffer = buffer_of(node)
        if buffer is not None and id(buffer.root) in memory:
            yield node


def replace_storage(tensors: Sequence[Tensor], replaced: Mapping[UOp, UOp]) -> None:
    """Let tensors read other storage."""
    nodes = substitute_many([tensor.uop for tensor in tensors], replaced)
    for tensor, node in zip(tensors, nodes, strict=True):
        tensor.uop = node
