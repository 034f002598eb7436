"""Arithmetic operators: promotion, weak scalars, rounding modes, index arithmetic on nodes."""

import numpy as np
import pytest
from tensor_eval import check_gradient, value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Ops, UOp, Variable


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (dtypes.int8, dtypes.uint8, dtypes.int16),
        (dtypes.int32, dtypes.int64, dtypes.int64),
        (dtypes.float16, dtypes.bfloat16, dtypes.float32),
        (dtypes.int64, dtypes.float16, dtypes.float16),
        (dtypes.bool, dtypes.uint8, dtypes.uint8),
        (dtypes.int64, dtypes.uint64, dtypes.float32),
        (dtypes.float32, dtypes.float64, dtypes.float64),
    ],
)
def test_promotion(left: object, right: object, wanted: object) -> None:
    assert (Tensor([1], dtype=left) + Tensor([1], dtype=right)).dtype is wanted
    assert (Tensor([1], dtype=right) * Tensor([1], dtype=left)).dtype is wanted


@pytest.mark.parametrize("dtype", [d for d in dtypes.all if d is not dtypes.bool])
def test_python_scalars_are_weak(dtype: object) -> None:
    assert (Tensor([1], dtype=dtype) + 1).dtype is dtype
    assert (3 - Tensor([1], dtype=dtype)).dtype is dtype
    wanted = dtype if dtypes.is_float(dtype) else dtypes.float32
    assert (Tensor([1], dtype=dtype) * 1.5).dtype is wanted
    assert (Tensor([1], dtype=dtype) / 2).dtype is wanted


def test_bool_with_scalars_commits() -> None:
    assert (Tensor([True]) + 1).dtype is dtypes.int32
    assert (Tensor([True]) * 1.0).dtype is dtypes.float32
    assert value(Tensor([True, False]) + 1).tolist() == [2, 1]


def test_division_and_remainder_signs() -> None:
    a = np.array([-7, -8, -1, 7], np.int32)
    for b in (4, -4, 3):
        assert value(Tensor(a) // b).tolist() == (a // b).tolist()
        assert value(Tensor(a) % b).tolist() == (a % b).tolist()
        assert value(Tensor(a).fmod(b)).tolist() == np.fmod(a, b).tolist()
        assert value(Tensor(a).div(b, rounding_mode="trunc")).tolist() == np.trunc(a / b).tolist()
    assert value(1 / Tensor([2, 4])).tolist() == [0.5, 0.25]
    assert value(7 // Tensor([2, -2])).tolist() == [3, -4]


def test_minimum_is_exact_at_the_limits() -> None:
    low, high = dtypes.min(dtypes.int32), dtypes.max(dtypes.int32)
    assert value(Tensor([low, 5]).minimum(Tensor([high, low]))).tolist() == [low, low]
    assert value(Tensor([0, 255], dtype=dtypes.uint8).minimum(7)).tolist() == [0, 7]
    got = value(Tensor([1.0, np.nan, 3.0]).minimum(Tensor([np.nan, 1.0, 2.0])))
    np.testing.assert_array_equal(got, [np.nan, np.nan, 2.0])


def test_broadcast_errors_name_shapes() -> None:
    with pytest.raises(ShapeError, match=r"ADD: shapes \(2, 3\) and \(4,\) do not broadcast"):
        Tensor.zeros(2, 3) + Tensor.zeros(4)
    with pytest.raises(DTypeError, match="found str"):
        Tensor([1]).add("x")
    with pytest.raises(TypeError):
        Tensor([1]) + "x"
    with pytest.raises(DTypeError, match="bool has no negative"):
        -Tensor([True])


def test_index_arithmetic_stays_weak() -> None:
    index = Variable("i", 0, 7)
    node = (index + 1) * 4 % 3 - index // 2
    assert node.dtype is dtypes.weakint
    assert all(n.op is not Ops.CAST for n in node.toposort())
    assert 2 + index is UOp.const(2) + index
    assert -index is index * -1


def test_balanced_sums() -> None:
    nodes = [Variable(f"v{i}", 0, 9) for i in range(8)]
    total = nodes[0].usum(*nodes[1:])
    assert len(total.toposort()) == 8 + 7
    assert (total.vmin, total.vmax) == (0, 72)


def test_gradients_with_broadcasting() -> None:
    draw = np.random.default_rng(0).uniform
    check_gradient(lambda a, b: a + b * a - a / b, draw(0.5, 2, (3, 1)), draw(0.5, 2, (1, 4)))
    check_gradient(lambda a, b: a.maximum(b) - a.minimum(b), draw(0, 1, 4), draw(0, 1, 4))
