"""The tensor as a Python object: protocol, laziness, registry, training flag."""

import gc

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DeviceError, DTypeError, ShapeError
from tg_core.tensor import Tensor
from tg_core.tensor.registry import live_tensors
from tg_core.uop.ops import Ops, Variable


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


def test_registry_is_weak_and_ordered() -> None:
    gc.collect()
    first, second = Tensor([1]), Tensor([2])
    found = live_tensors()
    places = [i for i, t in enumerate(found) if t is first or t is second]
    assert len(places) == 2 and found[places[0]] is first
    del first, found
    gc.collect()
    assert sum(t is second for t in live_tensors()) == 1


def test_training_flag() -> None:
    @Tensor.train()
    def inside() -> bool:
        return Tensor.training

    assert inside() and not Tensor.training
    with Tensor.train(), Tensor.train(False):
        assert not Tensor.training


def test_creation() -> None:
    assert Tensor.zeros(2, 3).tolist() == [[0] * 3] * 2
    assert Tensor.full((2,), 7).dtype is dtypes.int32
    assert Tensor.ones((2, 1), dtype=dtypes.int8).tolist() == [[1], [1]]
    assert Tensor.empty(4, 2).shape == (4, 2)
    assert Tensor.zeros(2).uop.base.op is not Ops.CONST
    assert Tensor.full((2,), 1, buffer=False).uop.device is None
    like = Tensor([1, 2], dtype=dtypes.int16)
    assert like.ones_like().tolist() == [1, 1] and like.zeros_like().dtype is dtypes.int16
    with pytest.raises(ShapeError, match="sizes must be ints"):
        Tensor.zeros(2, -1)
    with pytest.raises(ShapeError, match="expected ints"):
        Tensor.empty(1.5)


def test_foreign_memory() -> None:
    array = np.arange(6, dtype=np.float32)
    view = Tensor.from_blob(array.ctypes.data, (2, 3), dtype=dtypes.float32)
    array[0] = 9
    assert view.tolist() == [[9, 1, 2], [3, 4, 5]]


def test_replace_and_several_devices() -> None:
    x = Tensor([1, 2])
    assert x.replace(Tensor([3, 4])).tolist() == [3, 4]
    with pytest.raises(ShapeError, match="cannot become"):
        x.replace(Tensor([1]))
    with pytest.raises(DeviceError, match="several devices"):
        x.shard(("CPU:0", "CPU:1"))
