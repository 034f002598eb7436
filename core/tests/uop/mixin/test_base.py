"""What operands become before an op meets them."""

import math

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, UOp, Variable


def test_scalars_stay_bare_constants() -> None:
    for dtype in (dtypes.int16, dtypes.float16, dtypes.float64):
        node = (Tensor([1], dtype=dtype) + 2).uop
        assert node.src[1].op is Ops.CONST and node.src[1].shape == ()
    assert (Tensor([1.0]) + 2).uop.src[1].arg == 2.0
    assert (Tensor([1.0]) * 10**400).uop.src[1].arg == math.inf


def test_equal_shapes_take_no_movement() -> None:
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    assert (x + y).uop.src == (x.uop, y.uop)
    row = (Tensor([[1.0], [2.0]]) + y).uop
    assert [s.op for s in row.src] == [Ops.EXPAND, Ops.EXPAND]


def test_weak_nodes_adapt_to_concrete_ones() -> None:
    index = Variable("i", 0, 5)
    assert (UOp.const(3, dtypes.int32) + index).dtype is dtypes.int32
    assert (index + 1.5).dtype is dtypes.weakfloat
    assert (UOp.const(True) + index).dtype is dtypes.weakint


def test_ufix() -> None:
    half = Tensor([1.0], dtype=dtypes.float16)
    assert half.ufix(2).dtype is dtypes.float16
    assert Tensor([1]).ufix(2.5).dtype is dtypes.weakfloat
    assert half.ufix(half) is half
    with pytest.raises(DTypeError, match="ufix"):
        half.ufix("x")
