"""Shapes and dtypes of nodes from their sources, and arguments with symbolic entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError, ShapeError, TGError
from tg_core.uop.args import Dim
from tg_core.uop.ops import Ops, UOp, Variable
from tg_core.uop.shapes import (
    decode_movement,
    encode_movement,
    sint_equal,
    sint_max,
    sint_prod,
    sint_simplify,
)

n = Variable("n", 1, 8)


def x(*shape: int, dtype: DType = dtypes.float32) -> UOp:
    flat = UOp.param(0, dtype, (int(np.prod(shape)),))
    return flat._movement(Ops.RESHAPE, shape)


def test_symbolic_entries_become_sources() -> None:
    arg, symbolic = encode_movement((2, n, (0, n + 1)))
    assert arg == (2, Dim(0), (0, Dim(1)))
    assert symbolic == (n, n + 1)
    assert decode_movement(arg, (n, *symbolic)) == (2, n, (0, n + 1))
    assert encode_movement((2, 3)) == ((2, 3), ())
    assert encode_movement((n - n + 2, True)) == ((2, True), ())
    node = x(8)._movement(Ops.SHRINK, ((0, n),))
    assert (node.src[1:], node.marg, node.shape, node.max_shape) == ((n,), ((0, n),), (n,), (8,))
    assert node is x(8)._movement(Ops.SHRINK, ((0, (n + 1) - 1),))


def test_sizes() -> None:
    assert sint_prod(()) == 1
    assert sint_prod((2, 3, 4)) == 24
    assert sint_equal(n * 2, n + n)
    assert not sint_equal(n, 8)
    assert sint_simplify(n - n) == 0
    assert sint_max(n * 3 + 1) == 25
    assert sint_max(7) == 7


VALID: list[tuple[Ops, tuple[int, ...], Any, tuple[int, ...]]] = [
    (Ops.RESHAPE, (2, 3), (3, 2), (3, 2)), (Ops.RESHAPE, (1,), (), ()), (Ops.RESHAPE, (0, 3), (5, 0), (5, 0)),
    (Ops.EXPAND, (1, 3), (4, 3), (4, 3)), (Ops.EXPAND, (1,), (0,), (0,)), (Ops.PERMUTE, (2, 3, 4), (2, 0, 1), (4, 2, 3)),
    (Ops.PAD, (2, 3), ((1, 0), (0, 4)), (3, 7)), (Ops.SHRINK, (5, 3), ((1, 4), (0, 0)), (3, 0)), (Ops.FLIP, (2, 3), (1,), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "shape", "arg", "want"), VALID, ids=lambda v: str(v))
def test_movements(op: Ops, shape: tuple[int, ...], arg: Any, want: tuple[int, ...]) -> None:
    assert x(*shape)._movement(op, arg).shape == want


INVALID: list[tuple[Ops, tuple[int, ...], Any, str]] = [
    (Ops.RESHAPE, (2, 3), (4, 2), r"reshape: \(2, 3\) has 6 elements, \(4, 2\) has 8"),
    (Ops.RESHAPE, (2, 3), (-2, -3), "must not be negative"), (Ops.EXPAND, (2, 3), (4, 3), "only axes of size 1 can grow"),
    (Ops.EXPAND, (2, 3), (2, 3, 1), "entries for shape"), (Ops.PERMUTE, (2, 3), (0, 0), "is not a permutation"),
    (Ops.PERMUTE, (2, 3), (0,), "is not a permutation"), (Ops.PAD, (2,), ((-1, 0),), "must not be negative"),
    (Ops.PAD, (2,), ((0, 0), (0, 0)), "entries"), (Ops.SHRINK, (4,), ((2, 5),), "outside of shape"),
    (Ops.SHRINK, (4,), ((3, 2),), "outside of shape"), (Ops.FLIP, (4,), (1,), "not distinct axes"), (Ops.FLIP, (4,), (0, 0), "not distinct axes"),
    (Ops.REDUCE_AXIS, (4,), (Ops.ADD, (1,)), "outside of shape"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "shape", "arg", "message"), INVALID, ids=lambda v: str(v)[:40])
def test_invalid_movements_fail_where_they_are_built(
    op: Ops, shape: tuple[int, ...], arg: Any, message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        _ = x(*shape)._movement(op, arg).shape


@given(st.lists(st.integers(0, 4), max_size=4), st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_chains_of_movements_have_the_shapes_of_numpy(
    sizes: list[int], data: st.DataObject
) -> None:
    node, array = x(*sizes), np.zeros(sizes)
    for _ in range(4):
        rank = array.ndim
        kind = data.draw(st.sampled_from(("permute", "pad", "shrink", "flip", "expand", "flat")))
        if kind == "permute":
            order = data.draw(st.permutations(range(rank)))
            node, array = node._movement(Ops.PERMUTE, tuple(order)), array.transpose(order)
        elif kind == "pad":
            pads = [
                (data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))) for _ in range(rank)
            ]
            node, array = (
                node._movement(Ops.PAD, tuple(pads)),
                np.pad(array, pads) if rank else array,
            )
        elif kind == "shrink":
            cuts = [
                tuple(sorted((data.draw(st.integers(0, s)), data.draw(st.integers(0, s)))))
                for s in array.shape
            ]
            node, array = (
                node._movement(Ops.SHRINK, tuple(cuts)),
                array[tuple(slice(a, b) for a, b in cuts)],
            )
        elif kind == "flip":
            axes = tuple(i for i in range(rank) if data.draw(st.booleans()))
            node, array = node._movement(Ops.FLIP, axes), np.flip(array, axes)
        elif kind == "expand":
            new = tuple(3 if s == 1 else s for s in array.shape)
            node, array = node._movement(Ops.EXPAND, new), np.broadcast_to(array, new)
        else:
            node, array = node._movement(Ops.RESHAPE, (array.size,)), array.reshape(-1)
        assert node.shape == array.shape, kind


def test_elementwise_shapes() -> None:
    scalar = UOp.const(1.0, dtypes.float32)
    assert UOp(Ops.ADD, (x(2, 3), scalar)).shape == UOp(Ops.ADD, (scalar, x(2, 3))).shape == (2, 3)
    with pytest.raises(ShapeError, match=r"add: operands have different shapes \(2, 3\), \(3, 2\)"):
        _ = UOp(Ops.ADD, (x(2, 3), x(3, 2))).shape


def test_bitcast_scales_the_last_axis() -> None:
    assert x(2, 3).bitcast(dtypes.int32).shape == (2, 3)
    assert x(2, 3).bitcast(dtypes.uint8).shape == (2, 12)
    assert x(2, 4, dtype=dtypes.uint8).bitcast(dtypes.float32).shape == (2, 1)
    with pytest.raises(TGError, match="multiple"):
        x(2, 3, dtype=dtypes.uint8).bitcast(dtypes.int16)
    with pytest.raises(TGError, match="0-d"):
        UOp.const(1.0, dtypes.float32).bitcast(dtypes.int16)


def test_indexing_and_lanes() -> None:
    p = UOp.param(0, dtypes.float32, (8,))
    assert p.index(UOp.const(0)).shape == ()
    assert p.index(UOp.const(0), 4).shape == (4,)
    vector = UOp.stack_of(*(UOp.const(float(i), dtypes.float32) for i in range(4)))
    assert vector.shape == (4,)
    assert vector.index(UOp.const(1)).shape == ()
    assert UOp(Ops.STACK).shape == (0,)
    assert UOp(Ops.BINARY, (), b"abc").shape == (3,)


f, i, u = (UOp.const(1, d) for d in (dtypes.float16, dtypes.int8, dtypes.uint64))
w = UOp.const(2)
DTYPES: list[tuple[Ops, tuple[UOp, ...], DType]] = [
    (Ops.ADD, (i, i), dtypes.int8), (Ops.ADD, (i, w), dtypes.int8), (Ops.ADD, (f, i), dtypes.float16), (Ops.MAX, (w, w), dtypes.weakint),
    (Ops.CMPLT, (f, f), dtypes.bool), (Ops.CMPEQ, (i, w), dtypes.bool), (Ops.SQRT, (i,), dtypes.float32), (Ops.EXP2, (f,), dtypes.float16),
    (Ops.FDIV, (w, w), dtypes.weakfloat), (Ops.TRUNC, (f,), dtypes.float16), (Ops.SHL, (i, w), dtypes.int8), (Ops.THREEFRY, (u, u), dtypes.uint64),
    (Ops.WHERE, (UOp.const(True), i, w), dtypes.int8), (Ops.MULACC, (f, f, f), dtypes.float16), (Ops.STACK, (f, f), dtypes.float16), (Ops.SINK, (f,), dtypes.void),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "src", "want"), DTYPES, ids=lambda v: v.name if isinstance(v, (Ops, DType)) else ""
)
def test_dtypes_of_operations(op: Ops, src: tuple[UOp, ...], want: DType) -> None:
    assert UOp(op, src).dtype is want


def test_dtypes_that_do_not_fit() -> None:
    with pytest.raises(DTypeError, match="where: condition must be bool, found int8"):
        _ = UOp(Ops.WHERE, (i, f, f)).dtype
    with pytest.raises(DTypeError, match="shl: expected integers, found float16"):
        _ = UOp(Ops.SHL, (f, w)).dtype
    with pytest.raises(DTypeError, match="no common dtype"):
        _ = UOp(Ops.ADD, (UOp.sink(), f)).dtype
