"""REDUCE_AXIS of what is nothing unless `position == index` -> a pass over the index.

In and out: a graph of `spec_tensor`. Taken literally such a reduction tries all pairs of a position
and an index; its result is now storage that a kernel (`scatter_kernel`) combines the values into.
Writes by index, histograms and the gradients of lookups are reductions of this kind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.schedule.find_lookup import Lookup, counted, depends_on, find_lookup
from tg_core.schedule.graph_facts import is_state
from tg_core.schedule.indexing import flatten, full_access, storage_access
from tg_core.schedule.prepare_graph import identity_element
from tg_core.schedule.scatter_kernel import Scatter, scatter_kernel
from tg_core.schedule.storage_view import storage_view
from tg_core.uop.graph import toposort, with_sources
from tg_core.uop.ops import CallInfo, GroupOp, Ops, UOp
from tg_core.uop.symbolic import simplify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def lower_scatters(root: UOp) -> UOp:
    """Apply the rule of this file to a whole graph."""
    order = toposort((root,), enter_calls=False)
    if not any(node.op is Ops.REDUCE_AXIS for node in order):
        return root
    done: dict[UOp, UOp] = {}
    results: dict[UOp, UOp] = {}
    for node in order:
        rebuilt = with_sources(node, done)
        if rebuilt.op is Ops.REDUCE_AXIS:
            lookup = find_lookup(rebuilt)
            if lookup is not None:
                rebuilt = results[node] = _scattered(rebuilt, lookup)
        done[node] = rebuilt
    if not results:
        return root
    readers: dict[UOp, int] = {}
    for node in order:
        for source in node.src:
            readers[source] = readers.get(source, 0) + 1
    direct = {}
    for node in order:
        result = _stored_result(node, readers)
        if result is not None and result in results and result.dtype is node.dtype:
            direct[node] = _onto(done[node].src[0], results[result].base)
    return (
        done[root]
        if not direct
        else done[root].substitute({done[node]: state for node, state in direct.items()})
    )


def _stored_result(node: UOp, readers: Mapping[UOp, int]) -> UOp | None:
    """Return the value that storage holds as a whole after a write, when nothing else reads it,
    nor what the storage held before.
    """
    if node.op is not Ops.AFTER or len(node.src) != 2 or node.src[0].op not in GroupOp.Storage:
        return None
    storage, store = node.src
    if store.op is not Ops.STORE or len(store.src) != 2:
        return None
    target, value = store.src
    while target.op is Ops.RESHAPE and readers[target] == 1:
        target = target.src[0]
    # the write names its storage, and the state after it does
    if target is not storage or readers[storage] != 2:
        return None
    while value.op in (Ops.RESHAPE, Ops.CONTIGUOUS) and readers[value] == 1:
        value = value.src[0]
    return value if readers[value] == 1 else None


def _onto(storage: UOp, state: UOp) -> UOp:
    """Return the state of other storage that the same call fills."""
    cleared, call = state.src
    start = cleared.src[1].src[1]
    cleared = storage.after(storage.store(start))
    return cleared.after(UOp.call(call.src[0], cleared, *call.src[2:], info=call.arg))


def _scattered(reduce: UOp, lookup: Lookup) -> UOp:
    """Return the result of a reduction as storage that a call of a kernel fills."""
    (op, axes), device = reduce.arg, reduce.device
    assert isinstance(device, str)
    shape = tuple(int(size) for size in reduce.src[0].shape)  # type: ignore[arg-type]  # static
    index_shape = tuple(s if axis in lookup.index_axes else 1 for axis, s in enumerate(shape))
    scatter = Scatter(shape, lookup.positions, axes, index_shape, op)
    start = identity_element(op, reduce)
    storage = UOp.buffer(math.prod(scatter.result_shape), reduce.dtype, device)
    cleared = storage.after(storage.store(start._broadcast_to(storage.shape)))
    arguments = [cleared, _flat(_as_places(lookup.index, shape[lookup.positions]), index_shape)]
    value = _scalar_value(lookup)
    if value is None:
        value = UOp.param(2, reduce.dtype, (math.prod(scatter.value_shape),))
        arguments.append(_flat(_at_places(lookup, shape), scatter.value_shape))
    result = UOp.param(0, reduce.dtype, (math.prod(scatter.result_shape),))
    index = UOp.param(1, arguments[1].dtype, (math.prod(index_shape),))
    body = scatter_kernel(scatter, result, index, value, lookup.loops)
    call = UOp.call(body, *arguments, info=CallInfo("scatter"))
    return storage_view(cleared.after(call), reduce.shape)


def _scalar_value(lookup: Lookup) -> UOp | None:
    """Return values that need no storage: a constant, or the position along an axis."""
    if not lookup.value.shape:
        return lookup.value
    return counted(lookup.value, lookup.loops)


def _as_places(index: UOp, size: int) -> UOp:
    """Return an index in 32 bits where that is enough, -1 where it is out of range."""
    wide = dtypes.int32 if size <= dtypes.max(dtypes.int32) else dtypes.int64
    if index.dtype is wide:
        return index
    inside = (index >= 0) & (index < size)
    return inside.where(index.cast(wide), UOp.const(-1, wide))


def _at_places(lookup: Lookup, shape: tuple[int, ...]) -> UOp:
    """Return the values at the places they go to."""
    value = lookup.value
    if not depends_on(value, lookup.loops, lookup.positions):
        return value
    axes = (lookup.positions,)
    if value.dtype is dtypes.bool:
        found = UOp(Ops.AND, (lookup.mask, value)).rop(Ops.MAX, axes)
    else:
        zero = UOp.const(0, value.dtype)
        found = UOp(Ops.WHERE, (lookup.mask, value, zero)).rop(Ops.ADD, axes)
    return found._movement(Ops.EXPAND, shape)


def _flat(value: UOp, shape: Sequence[int]) -> UOp:
    """Return the part of a value of a shape, whose axes it does not change along elsewhere, as a
    vector; storage itself where it is that.
    """
    part = value._movement(Ops.SHRINK, tuple((0, size) for size in shape))
    state = _whole_state(part)
    return part._movement(Ops.RESHAPE, (math.prod(shape),)) if state is None else state


def _whole_state(view: UOp) -> UOp | None:
    """Return the state of which a view shows every element in order."""
    if view.base.op in GroupOp.Movement or not is_state(view.base):
        return None
    shape = [int(size) for size in view.shape]  # type: ignore[arg-type]  # static
    loops = [UOp.range(size, axis) for axis, size in enumerate(shape) if size != 1]
    state, flat, valid = storage_access(view, full_access(shape, loops))
    if valid is not None or state.shape != (math.prod(shape),):
        return None
    in_order = flatten(loops, [size for size in shape if size != 1])
    return state if simplify(flat - in_order).const_value == 0 else None
