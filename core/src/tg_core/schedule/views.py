"""Views of storage that are one contiguous run of it."""

from __future__ import annotations

from typing import NamedTuple

from tg_core.schedule.graph_facts import is_state
from tg_core.uop.ops import GroupOp, Ops, UOp


class View(NamedTuple):
    """`size` elements of a state from `offset`, in the state's dtype."""

    state: UOp
    offset: int
    size: int


def is_whole_view(node: UOp) -> bool:
    """Tell whether a value is storage itself, seen through reshapes that keep every element."""
    while node.op is Ops.RESHAPE:
        node = node.src[0]
    return is_state(node)


def contiguous_view(node: UOp) -> View | None:
    """Return the run of storage that a value is, or None when it is computed, symbolic, or not one
    run.
    """
    base = node
    while base.op in GroupOp.Movement:
        if base.op in (Ops.PAD, Ops.EXPAND) or len(base.src) > 1:
            return None
        base = base.src[0]
    if not is_state(base):
        return None
    shape = [int(s) for s in node.shape if isinstance(s, int)]
    if len(shape) != len(node.shape):
        return None
    size = 1
    for length in shape:
        size *= length
    if is_whole_view(node):
        return View(base, 0, size)
    if size == 0:
        return View(base, 0, 0)
    # algebra that programs of whole tensors have no use for
    from tg_core.schedule.indexing import run_offset

    offset = run_offset(node, shape)
    return View(base, offset, size) if offset is not None else None


def strip_state(state: UOp) -> UOp:
    """Return the storage under pending writes and reinterpretations."""
    while state.op in (Ops.AFTER, Ops.BITCAST):
        state = state.src[0]
    return state


def state_of(view: UOp) -> UOp:
    """Return the state that a whole view shows."""
    while view.op is Ops.RESHAPE:
        view = view.src[0]
    return view


def strip_bitcast(state: UOp) -> UOp:
    """Return the state under reinterpretations as another dtype."""
    while state.op is Ops.BITCAST:
        state = state.src[0]
    return state


def storage_argument(state: UOp, offset: int = 0, size: int | None = None) -> UOp:
    """Return a call's argument for a state: its storage, as the dtype it is read in, and of it the
    given elements.
    """
    storage = strip_state(state)
    casts = []
    while state is not storage:
        if state.op is Ops.BITCAST:
            casts.append(state.arg)
        state = state.src[0]
    argument = storage
    for dtype in reversed(casts):
        argument = argument.bitcast(dtype)
    if size is not None and (offset, size) != (0, argument.shape[0]):
        argument = argument._movement(Ops.SHRINK, ((offset, offset + size),))
    return argument
