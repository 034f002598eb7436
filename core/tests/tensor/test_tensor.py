"""The tensor as a Python object: protocol, laziness, registry, training flag."""

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import Variable


def test_repr_does_not_compute() -> None:
    x = Tensor([1, 2]) + 1
    node = x.uop
    assert "int32" in repr(x) and "add" in repr(x)
    assert x.uop is node


def test_protocol() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert (x == 2).tolist() == [[False, True], [False, False]]
    assert (x != 2).any().item() is True
    assert {x: 1}[x] == 1
    assert bool(Tensor(3)) and int(Tensor([7])) == 7 and float(Tensor(0.5)) == 0.5
    assert [10, 20, 30][Tensor(2)] == 30
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(x)
    with pytest.raises(DTypeError, match="no length"):
        len(Tensor(1))
    with pytest.raises(ShapeError, match="expected one value"):
        x.item()
    with pytest.raises(DTypeError, match="integer tensor"):
        [1][Tensor(0.0)]


def test_conversion() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.data().tolist() == [[1, 2], [3, 4]] and x.data().format == "f"
    np.testing.assert_array_equal(x.permute(1, 0).numpy(), [[1, 3], [2, 4]])
    assert x.cast(dtypes.bfloat16).numpy().dtype == np.float32
    with pytest.raises(DTypeError, match="no memoryview format"):
        x.cast(dtypes.bfloat16).data()
    assert Tensor.const(3).tolist() == 3
    part = x[: Variable("n", 1, 2).bind(1)]
    assert part.tolist() == [[1, 2]]


def test_symbolic_scalars_as_operands() -> None:
    amount = Variable("amount", 1, 9).bind(4)
    assert (Tensor([1, 2, 3]) + amount).tolist() == [5, 6, 7]
    assert (amount * Tensor([1, 2])).tolist() == [4, 8]


def test_training_flag() -> None:
    @Tensor.train()
    def inside() -> bool:
        return Tensor.training

    assert inside() and not Tensor.training
    with Tensor.train(), Tensor.train(False):
        assert not Tensor.training
