"""Memory shared with other libraries through DLPack."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tg_core.array_api as xp
from tg_core import Tensor
from tg_core.errors import DeviceError, ExchangeError, ShapeError
from tg_core.tensor import dlpack

HOST = (1, 0)


def test_numpy_sees_writes_to_the_tensor() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    view = np.from_dlpack(x)
    assert view.shape == (2, 2) and view.dtype == np.float32
    x[1, 0] = 9.0
    x.realize()
    assert view.tolist() == [[1.0, 2.0], [9.0, 4.0]]


def test_memory_outlives_the_tensor() -> None:
    view = np.from_dlpack(xp.arange(5) * 3)
    gc.collect()
    xp.zeros((5,), dtype=xp.int32).realize()
    assert view.tolist() == [0, 3, 6, 9, 12]


def test_what_is_lent_is_given_back() -> None:
    before = len(dlpack._lent)
    view = np.from_dlpack(Tensor([1.0, 2.0]))
    capsule = Tensor([3.0]).__dlpack__()
    versioned = Tensor([3.0]).__dlpack__(max_version=(1, 0))
    assert len(dlpack._lent) == before + 3
    del view, capsule, versioned
    gc.collect()
    assert len(dlpack._lent) == before


@pytest.mark.parametrize(
    "name", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"]
)
def test_every_dtype_of_numpy(name: str) -> None:
    expected = np.array([[0, 1, 1], [1, 0, 1]]).astype(name)
    found = np.from_dlpack(Tensor(expected))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_views_scalars_and_nothing() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    assert np.from_dlpack(x.T).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert np.from_dlpack(x[:, 1]).tolist() == [2, 5]
    assert np.from_dlpack(Tensor(7)).tolist() == 7
    assert np.from_dlpack(xp.zeros((0, 3))).shape == (0, 3)


def test_copies_on_demand_only() -> None:
    x = Tensor([1.0, 2.0, 3.0]).realize()
    copied = np.from_dlpack(x, copy=True)
    shared = np.from_dlpack(x, copy=False)
    x[0] = 5.0
    x.realize()
    assert copied[0] == 1.0 and shared[0] == 5.0
    with pytest.raises(ExchangeError, match="needs a copy"):
        x[::2].__dlpack__(copy=False)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ExchangeError, match="streams"):
        x.__dlpack__(stream=1)


def test_other_devices_are_copied_to_the_host() -> None:
    x = Tensor([1.0, 2.0], device="PYTHON")
    assert x.__dlpack_device__() == HOST
    assert np.from_dlpack(x + 1).tolist() == [2.0, 3.0]


def test_dtypes_without_a_code() -> None:
    with pytest.raises(ExchangeError, match="fp8e4m3 has no code"):
        Tensor([1.0]).cast("fp8e4m3").__dlpack__()


def test_foreign_memory_is_shared_where_the_device_is_the_host() -> None:
    memory = np.arange(6.0)
    x = xp.from_dlpack(memory, device="CPU")
    memory[0] = 7.0
    assert x.tolist() == [7.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    x[1] = -1.0
    x.realize()
    assert memory[1] == -1.0


def test_foreign_memory_lives_as_long_as_the_tensor() -> None:
    x = xp.from_dlpack(np.full(1000, 3.0), device="CPU")
    y = x.reshape((10, 100))[2] + 0
    del x
    gc.collect()
    np.empty(1000).fill(-1)
    assert y.tolist() == [3.0] * 100


def test_foreign_memory_that_cannot_be_used_as_it_is() -> None:
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    assert xp.from_dlpack(frozen).tolist() == [0.0, 1.0, 2.0, 3.0]
    strided = np.arange(8)[::2]
    assert xp.from_dlpack(strided).tolist() == [0, 2, 4, 6]
    with pytest.raises(ExchangeError, match="needs a copy"):
        xp.from_dlpack(strided, copy=False)
    with pytest.raises(ExchangeError, match="no __dlpack__"):
        xp.from_dlpack([1, 2])
    memory = np.arange(3)
    copied = xp.from_dlpack(memory, copy=True)
    memory[0] = 5
    assert copied.tolist() == [0, 1, 2]


def test_devices_of_others() -> None:
    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self) -> None:
            raise AssertionError

    with pytest.raises(ExchangeError, match="device kind 2"):
        xp.from_dlpack(Elsewhere())


def test_from_our_own() -> None:
    x = Tensor([1.0, 2.0])
    assert xp.from_dlpack(x) is x
    assert xp.from_dlpack(x, device="PYTHON").device == "PYTHON"
    copied = xp.from_dlpack(x, copy=True)
    copied[0] = 5.0
    assert x.tolist() == [1.0, 2.0] and copied.tolist() == [5.0, 2.0]


def test_to_device() -> None:
    x = Tensor([1.0, 2.0])
    assert x.to_device(x.device) is x
    moved = x.to_device("PYTHON")
    assert moved.device == "PYTHON" and moved.tolist() == [1.0, 2.0]
    with pytest.raises(DeviceError, match="streams"):
        x.to_device("PYTHON", stream=3)


def test_asarray_shares_and_copies() -> None:
    x = Tensor([1, 2]).realize()
    assert xp.asarray(x) is x and xp.asarray(x, copy=False) is x
    copied = xp.asarray(x, copy=True)
    copied[0] = 9
    assert x.tolist() == [1, 2]
    with pytest.raises(ShapeError, match="copy=False refuses"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ShapeError, match="by a copy only"):
        xp.asarray([1, 2], copy=False)
    memory = np.arange(3.0)
    shared = xp.asarray(memory, copy=False, device="CPU")
    memory[0] = 4.0
    assert shared.tolist() == [4.0, 1.0, 2.0]
