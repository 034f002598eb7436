"""Writing by index and in place against numpy, on storage and on values."""

from typing import Any

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, IndexingError, ShapeError
from tg_core.tensor import Tensor

X = np.arange(120, dtype=np.float32).reshape(4, 5, 6)
WRITES: list[tuple[Any, Any]] = [
    (0, 1.0),
    ((slice(None), 2), np.arange(6, dtype=np.float32)),
    (slice(None, None, 2), 3.0),
    ((slice(None), slice(None, None, 2)), 4.0),
    ((slice(None), slice(4, None, -3)), np.float32([[7], [8]])),
    ((..., [0, 2]), 5.0),
    ((slice(None), [1, 1, 3]), np.arange(18, dtype=np.float32).reshape(3, 6)),
    (([0, 1], slice(None), [2, -3]), np.arange(10, dtype=np.float32).reshape(2, 5)),
    ((slice(1, 3), [0, 2]), 2.0),
    ((None, 1), 9.0),
]


@pytest.mark.parametrize("kind", ["storage", "value"])
@pytest.mark.parametrize(("index", "written"), WRITES, ids=str)
def test_against_numpy(kind: str, index: Any, written: Any) -> None:
    tensor = Tensor(X).realize() if kind == "storage" else Tensor(X) * 1
    wanted = X.copy()
    tensor[index] = Tensor(written) if isinstance(written, np.ndarray) else written
    wanted[index] = written
    np.testing.assert_array_equal(tensor.numpy(), wanted)


def test_masks() -> None:
    tensor, wanted = Tensor(X).realize(), X.copy()
    tensor[Tensor(X > 50)] = 0.0
    wanted[X > 50] = 0
    np.testing.assert_array_equal(tensor.numpy(), wanted)


def test_lists_and_scalars_take_the_dtype() -> None:
    tensor = Tensor([1, 2, 3], dtype=dtypes.int16).realize()
    tensor[:2] = [7, 8]
    tensor[2] = 9.7
    assert tensor.dtype is dtypes.int16 and tensor.tolist() == [7, 8, 9]


def test_in_place_operators() -> None:
    tensor = Tensor([1.0, 2.0, 4.0]).realize()
    tensor += 1
    tensor *= 2
    tensor[0] -= 3
    tensor /= 2
    assert tensor.tolist() == [0.5, 3, 5]
    whole = Tensor([6, 7]).realize()
    whole //= 4
    whole <<= 3
    whole |= 1
    assert whole.tolist() == [9, 9]


def test_aliases_see_the_write() -> None:
    tensor = Tensor(X).realize()
    column = tensor[:, 1]
    tensor[0, 1] = 0.0
    assert column[0].tolist() == [0.0] * 6


def test_gradient_through_a_written_value() -> None:
    x, v = Tensor([1.0, 2.0, 3.0]), Tensor(5.0)
    y = x * 2
    y[1] = v
    to_x, to_v = (y * Tensor([1.0, 10.0, 100.0])).sum().gradient(x, v)
    assert to_x.tolist() == [2, 0, 200] and to_v.item() == 10


def test_errors_come_in_order() -> None:
    tensor = Tensor([1.0, 2.0]).realize()
    with pytest.raises(IndexingError, match="out of range"):
        tensor[5] = Tensor([1])
    with pytest.raises(DTypeError, match="a int32 value does not go into a float32 tensor"):
        tensor[0] = Tensor(1)
    with pytest.raises(ShapeError):
        tensor[:] = [1.0, 2.0, 3.0]
    with pytest.raises(ShapeError):
        tensor[[0, 1]] = [1.0, 2.0, 3.0]
    assert tensor.tolist() == [1, 2]


def test_scalars_that_no_value_is() -> None:
    integers, halves = Tensor([1, 2]).realize(), Tensor([1.0, 2.0], dtype=dtypes.float16).realize()
    for value in (float("nan"), float("inf")):
        with pytest.raises(DTypeError, match="is no int32"):
            integers[0] = value
    halves[0] = 10**400
    halves[1] = -(10**400)
    assert integers.tolist() == [1, 2] and halves.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("index", [slice("a"), slice(None, b"b"), slice([1]), np.array(2.5)])
def test_indices_of_no_kind(index: Any) -> None:
    tensor = Tensor([1.0, 2.0]).realize()
    with pytest.raises(IndexingError):
        tensor[index]
    with pytest.raises(IndexingError):
        tensor[index] = 1.0
    with pytest.raises(IndexingError):
        tensor[np.array(True)]
