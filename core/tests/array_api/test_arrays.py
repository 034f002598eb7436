"""What an array is, and that results share no memory with arguments."""

from __future__ import annotations

import array

import numpy as np
import pytest

import tg_core.array_api as xp
from tg_core import Tensor
from tg_core.errors import DTypeError, ShapeError
from tg_core.uop.ops import UOp


def test_size_is_a_number_and_a_method() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    assert x.size == 6 and isinstance(x.size, int) and x.size + 1 == 7
    assert x.size() == (2, 3) and x.size(0) == 2 and x.size(-1) == 3
    assert Tensor([]).size == 0 and Tensor(1).size == 1
    assert callable(Tensor.size) and Tensor.size(x) == (2, 3)


def test_size_of_symbolic_shapes_is_the_method() -> None:
    size = UOp.variable("n", 1, 10)
    x = Tensor.empty(10)[: size.bind(3)]
    assert x.size(0) is x.shape[0]


def test_matrix_transpose() -> None:
    x = xp.reshape(xp.arange(12), (2, 2, 3))
    assert x.mT.shape == (2, 3, 2)
    np.testing.assert_array_equal(x.mT.numpy(), np.arange(12).reshape(2, 2, 3).swapaxes(1, 2))
    with pytest.raises(ShapeError, match="mT: expected matrices"):
        _ = xp.arange(3).mT


def test_conversions() -> None:
    assert complex(Tensor(1.5)) == 1.5 + 0j and int(Tensor(3)) == 3 and float(Tensor(0.5)) == 0.5
    assert bool(Tensor(True)) and [10, 20, 30][Tensor(1)] == 20


def test_masks_without_axes() -> None:
    x = Tensor(5)
    assert x[Tensor(True)].tolist() == [5] and x[Tensor(False)].tolist() == []
    x[Tensor(False)] = 7
    assert x.tolist() == 5
    x[Tensor(True)] = 7
    assert x.tolist() == 7


SAME = {
    "abs": xp.uint8,
    "astype": xp.int32,
    "ceil": xp.int32,
    "clip": xp.int32,
    "conj": xp.float32,
    "floor": xp.int32,
    "positive": xp.int32,
    "real": xp.float32,
    "round": xp.int32,
    "sort": xp.int32,
    "trunc": xp.int32,
}


@pytest.mark.parametrize("name", SAME)
def test_a_write_to_a_result_does_not_show_in_the_argument(name: str) -> None:
    x = xp.asarray([1, 2, 3], dtype=SAME[name])
    x.realize()
    more = (SAME[name],) if name == "astype" else ()
    result = getattr(xp, name)(x, *more)
    result[0] = 9
    assert result.tolist() == [9, 2, 3] and x.tolist() == [1, 2, 3]


def test_data_of_other_kinds() -> None:
    assert xp.asarray(array.array("h", [1, 2])).dtype is xp.int16
    assert xp.asarray(range(3)).tolist() == [0, 1, 2]
    assert xp.asarray(np.float64(1.5)).dtype is xp.float64
    assert xp.asarray([[Tensor(1), Tensor(2)], [Tensor(3), Tensor(4)]]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DTypeError, match="complex"):
        xp.asarray(1j)


def test_scalars_of_numpy_count_as_pythons() -> None:
    x = xp.ones((2,))
    assert xp.add(x, np.float64(0.5)).dtype is xp.float32
    assert xp.where(x > 0, np.int64(1), x).dtype is xp.float32
    assert xp.full((np.int64(2),), np.float32(3)).tolist() == [3.0, 3.0]
    assert xp.sum(xp.ones((2, 3)), axis=np.int64(1)).tolist() == [3.0, 3.0]


def test_long_vectors_are_bisected() -> None:
    places = np.sort(np.random.default_rng(0).integers(0, 5000, 3000))
    wanted = np.array([-1, 0, 17, 2500, 4999, 5000, 6000])
    for side in ("left", "right"):
        found = xp.searchsorted(xp.asarray(places), xp.asarray(wanted), side=side)
        np.testing.assert_array_equal(found.numpy(), np.searchsorted(places, wanted, side))


def test_searchsorted_puts_nan_last() -> None:
    places = xp.asarray([1.0, 2.0, np.nan, np.nan])
    wanted = xp.asarray([np.nan, 3.0])
    assert xp.searchsorted(places, wanted).tolist() == [2, 2]
    assert xp.searchsorted(places, wanted, side="right").tolist() == [4, 2]


def test_unique_values_of_nan_and_zeros() -> None:
    found = xp.unique_all(xp.asarray([np.nan, 0.0, np.nan, -0.0]))
    assert found.counts.tolist() == [2, 1, 1]
    assert found.inverse_indices.tolist() == [1, 0, 2, 0]
    assert found.indices.tolist() == [1, 0, 2]


def test_sorting_is_stable_in_both_directions() -> None:
    x = xp.asarray([2, 1, 2, 1])
    assert xp.argsort(x).tolist() == [1, 3, 0, 2]
    assert xp.argsort(x, descending=True).tolist() == [0, 2, 1, 3]


def test_linspace_ends_are_exact() -> None:
    values = xp.linspace(0.1, 0.7, 7)
    np.testing.assert_array_equal(values.numpy(), np.linspace(0.1, 0.7, 7).astype(np.float32))
    assert xp.linspace(0, 1, 1).tolist() == [0.0]
    with pytest.raises(ShapeError, match="must not be negative"):
        xp.linspace(0, 1, -1)


def test_arrays_on_a_device() -> None:
    for made in (
        xp.zeros((2,), device="PYTHON"),
        xp.arange(2, device="PYTHON"),
        xp.eye(2, device="PYTHON"),
        xp.linspace(0, 1, 2, device="PYTHON"),
        xp.asarray([1], device="PYTHON"),
        xp.ones_like(Tensor([1.0], device="PYTHON")),
    ):
        assert made.device == "PYTHON"


def test_parts_of_real_numbers() -> None:
    x = xp.asarray([1.5, -2.0])
    assert xp.imag(x).tolist() == [0.0, 0.0] and xp.imag(x).dtype is xp.float32
    assert xp.real(x).tolist() == [1.5, -2.0] and xp.conj(x).tolist() == [1.5, -2.0]
    with pytest.raises(DTypeError, match="imag: expected numbers"):
        xp.imag(xp.asarray([True]))
