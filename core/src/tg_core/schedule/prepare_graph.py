"""Tensor graph -> tensor graph without what only autograd or the user sees.

In and out: a graph of `spec_tensor`. Detach and backward markers vanish, reductions of nothing
become their identity, repeated markers and writes collapse.
"""

from __future__ import annotations

import math

from tg_core.config import SPLIT_REDUCEOP
from tg_core.dtype import dtypes
from tg_core.uop.ops import GroupOp, Ops, PatternMatcher, UOp, UPat, graph_rewrite
from tg_core.uop.shapes import sint_max

MOST_RESULTS = 16
"""Results of a reduction from which on they keep the threads busy by themselves."""
LEAST_REDUCED = 1 << 18
"""Elements per result below which one thread is done sooner than two kernels are launched."""
LEAST_PART = 64
"""Elements of the cut axis that remain in a part."""
PARTS = (64, 60, 56, 48, 40, 36, 32, 30, 28, 24, 20, 18, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2)
"""Numbers of parts to try, the preferred one first."""
_IDENTITY = {Ops.ADD: 0, Ops.MUL: 1}


def identity_element(op: Ops, like: UOp) -> UOp:
    """Return the scalar that leaves every value of the dtype unchanged under a reduction."""
    return UOp.const(_IDENTITY[op] if op in _IDENTITY else dtypes.min(like.dtype), like.dtype)


def _full(value: UOp, like: UOp) -> UOp:
    """Return a scalar broadcast to the shape of another node."""
    if not like.shape:
        return value
    ones = value._movement(Ops.RESHAPE, (1,) * len(like.shape))
    return ones._movement(Ops.EXPAND, tuple(like.shape))


def drop_marker(x: UOp, marker: UOp) -> UOp:
    """DETACH(x), CONTIGUOUS_BACKWARD(x) -> x. Only gradients tell them apart from x."""
    return x


def drop_repeated_contiguous(x: UOp, outer: UOp) -> UOp:
    """CONTIGUOUS(CONTIGUOUS(x)) -> CONTIGUOUS(x)."""
    return x


def drop_contiguous_constant(x: UOp, outer: UOp) -> UOp | None:
    """CONTIGUOUS of a broadcast constant -> the constant: there is no data whose layout matters."""
    return x if x.base.const_value is not None and x.base.shape == () else None


def reduce_of_nothing(x: UOp, reduce: UOp) -> UOp | None:
    """REDUCE_AXIS over a zero-size value -> the identity element, whatever remains of the shape."""
    if 0 not in x.shape:
        return None
    return _full(identity_element(reduce.arg[0], reduce), reduce)


def reduce_of_one(x: UOp, reduce: UOp) -> UOp | None:
    """REDUCE_AXIS over axes of size 1 only -> x."""
    return x if all(x.shape[axis] == 1 for axis in reduce.arg[1]) else None


def split_large_reduce(x: UOp, reduce: UOp) -> UOp | None:
    """REDUCE_AXIS of very many elements to few -> REDUCE_AXIS of the stored REDUCE_AXIS of parts.

    The parts run in parallel. How they are cut depends on the shape alone, so the order of the
    additions does not change with the number of threads. `SPLIT_REDUCEOP=0` turns it off.
    """
    op, axes = reduce.arg
    shape = [s for s in x.shape if isinstance(s, int)]
    if not SPLIT_REDUCEOP.value or len(shape) != len(x.shape) or x.device is None:
        return None
    total = math.prod(shape)
    results = total // math.prod(shape[a] for a in axes) if total else 0
    if results > MOST_RESULTS or total // max(results, 1) < LEAST_REDUCED:
        return None
    size = max(shape[a] for a in axes)
    axis = next(a for a in axes if shape[a] == size)
    parts = next((p for p in PARTS if size % p == 0 and size // p >= LEAST_PART), None)
    if parts is None:
        return None
    cut = (*shape[:axis], parts, size // parts, *shape[axis + 1 :])
    inner = sorted(a if a < axis else a + 1 for a in axes)
    partial = x._movement(Ops.RESHAPE, cut).rop(op, inner).contiguous()
    return partial.rop(op, (axis,))._movement(Ops.RESHAPE, reduce.shape)


def drop_movement_without_effect(x: UOp, movement: UOp) -> UOp | None:
    """RESHAPE, EXPAND, SHRINK, PAD, PERMUTE that change nothing -> x."""
    if movement.op in (Ops.RESHAPE, Ops.EXPAND):
        return x if movement.shape == x.shape else None
    if movement.op is Ops.PERMUTE:
        return x if movement.arg == tuple(range(len(movement.arg))) else None
    if movement.op is Ops.PAD:
        return x if all(p == (0, 0) for p in movement.marg) else None
    if movement.op is Ops.SHRINK:
        return x if movement.shape == x.shape else None
    return x if not movement.arg else None


def merge_reshapes(x: UOp, inner: UOp, outer: UOp) -> UOp | None:
    """RESHAPE(RESHAPE(x)) -> RESHAPE(x): only the sizes at the ends matter."""
    return x._movement(Ops.RESHAPE, outer.marg)


def copy_greatest_shape(x: UOp, copy: UOp) -> UOp | None:
    """COPY of a value of symbolic shape -> the part of a COPY of its greatest shape: what moves
    between devices is a run of bytes of a known size.
    """
    if all(isinstance(size, int) for size in x.shape):
        return None
    greatest = tuple(sint_max(size) for size in x.shape)
    missing = tuple((0, most - size) for most, size in zip(greatest, x.shape, strict=True))
    whole = UOp(Ops.COPY, (x._movement(Ops.PAD, missing),), copy.arg)
    return whole._movement(Ops.SHRINK, tuple((0, size) for size in x.shape))


def drop_repeated_write(state: UOp, value: UOp, again: UOp) -> UOp | None:
    """AFTER(s1, STORE(view(s1), v)) where s1 = AFTER(s0, STORE(view(s0), v)) -> s1. The second
    write changes nothing.

    Holds only when `v` does not read the storage, which a value that reads s1 would differ in.
    """
    if len(again.src) != 2 or len(state.src) != 2 or state.op is not Ops.AFTER:
        return None
    first, second = state.src[1], again.src[1]
    if first.op is not Ops.STORE or second.op is not Ops.STORE or first.src[1] is not second.src[1]:
        return None
    return state if second.src[0].substitute({state: state.src[0]}) is first.src[0] else None


_x = UPat.var("x")
pm_prepare = PatternMatcher(
    [
        (UPat((Ops.DETACH, Ops.CONTIGUOUS_BACKWARD), (_x,), name="marker"), drop_marker),
        (
            UPat(Ops.CONTIGUOUS, (UPat(Ops.CONTIGUOUS, name="x"),), name="outer"),
            drop_repeated_contiguous,
        ),
        (UPat(Ops.CONTIGUOUS, (_x,), name="outer"), drop_contiguous_constant),
        (UPat(Ops.COPY, (_x,), name="copy"), copy_greatest_shape),
        (UPat(Ops.REDUCE_AXIS, (_x,), name="reduce"), reduce_of_nothing),
        (UPat(Ops.REDUCE_AXIS, (_x,), name="reduce"), reduce_of_one),
        (UPat(Ops.REDUCE_AXIS, (_x,), name="reduce"), split_large_reduce),
        (
            UPat(GroupOp.Movement, (_x,), name="movement", allow_any_len=True),
            drop_movement_without_effect,
        ),
        (
            UPat(
                Ops.RESHAPE,
                (UPat(Ops.RESHAPE, (_x,), name="inner", allow_any_len=True),),
                name="outer",
                allow_any_len=True,
            ),
            merge_reshapes,
        ),
        (
            UPat(
                Ops.AFTER,
                (UPat(Ops.AFTER, name="state"), UPat(Ops.STORE, (UPat(), UPat.var("value")))),
                name="again",
            ),
            drop_repeated_write,
        ),
    ]
)


def prepare_graph(root: UOp) -> UOp:
    """Apply the rules of this file to a whole graph."""
    return graph_rewrite(root, pm_prepare, name="prepare graph")
