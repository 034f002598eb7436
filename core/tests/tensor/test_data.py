"""Data from outside: dtypes, shapes, strides, byte order, copies, bad input."""

import pathlib
from typing import Any

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, FileFormatError, ShapeError
from tg_core.tensor import Tensor
from tg_core.uop.ops import UOp


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, dtypes.bool),
        (3, dtypes.int32),
        (2**40, dtypes.int64),
        (1.5, dtypes.float32),
        ([True, False], dtypes.bool),
        ([1, True], dtypes.int32),
        ([1, 2.5], dtypes.float32),
        ([[1], [2**33]], dtypes.int64),
        ([], dtypes.float32),
        (b"\x01\x02", dtypes.uint8),
        (np.float32(2), dtypes.float32),
        ([np.int64(3), 4], dtypes.int32),
    ],
)
def test_inferred_dtype(data: Any, dtype: object) -> None:
    assert Tensor(data).dtype is dtype


def test_round_trips() -> None:
    for data in (5, [1, 2, 3], [[1.5, -2.0], [0.25, 4.0]], [[[]]], [], [True, False]):
        assert Tensor(data).tolist() == data
    assert Tensor([300, -1], dtype=dtypes.uint8).tolist() == [44, 255]
    assert Tensor([1.1], dtype=dtypes.bfloat16).tolist() == [1.1015625]
    assert Tensor([1.5, 2.5], dtype=dtypes.int32).tolist() == [1, 2]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(20.0).reshape(4, 5)[::-1, ::2],
        np.ones((1, 3, 2))[::-1],
        np.broadcast_to(np.float32([1, 2]), (3, 2)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(4, dtype=">i4"),
        np.array(7, np.int8),
        np.zeros((0, 3), np.float16),
        np.array([True, False]),
    ],
    ids=str,
)
def test_numpy_arrays(array: np.ndarray) -> None:
    got = Tensor(array).numpy()
    np.testing.assert_array_equal(got, array)
    assert got.dtype == array.dtype.newbyteorder("=")


def test_data_is_copied() -> None:
    array = np.array([1.0, 2.0], np.float32)
    array.setflags(write=True)
    tensor = Tensor(array)
    array[0] = 9
    assert tensor.tolist() == [1, 2]


def test_bytes_and_views() -> None:
    raw = np.array([1.5, 2.5], np.float32).tobytes()
    assert Tensor(raw, dtype=dtypes.float32).tolist() == [1.5, 2.5]
    assert Tensor(bytearray(b"ab")).tolist() == [97, 98]
    assert Tensor(memoryview(np.arange(6, dtype=np.int16).reshape(2, 3))).tolist() == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    with pytest.raises(ShapeError, match="no whole number"):
        Tensor(b"abc", dtype=dtypes.float32)


def test_files(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "numbers.bin"
    path.write_bytes(np.arange(5, dtype=np.int32).tobytes())
    tensor = Tensor(path, dtype=dtypes.int32)
    assert str(tensor.device).startswith("DISK")
    assert tensor.to(None).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(FileFormatError, match="no whole number"):
        Tensor(path, dtype=dtypes.int64)
    with pytest.raises(FileFormatError, match="is not a file"):
        Tensor(tmp_path / "missing")


def test_nested_tensors_and_nodes() -> None:
    assert Tensor([Tensor([1, 2]), Tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert Tensor(UOp.const(3, dtypes.int16)).tolist() == 3
    assert Tensor(Tensor([1]), dtype=dtypes.float32).dtype is dtypes.float32


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[1], 2], [1, [2]], [[1, 2], 3]])
def test_ragged(data: Any) -> None:
    with pytest.raises(ShapeError, match="ragged"):
        Tensor(data)


@pytest.mark.parametrize("data", ["text", ["a"], object(), np.array([1j]), {"a": 1}, [None]])
def test_foreign_data(data: Any) -> None:
    with pytest.raises(DTypeError):
        Tensor(data)


def test_values_that_do_not_fit() -> None:
    with pytest.raises(DTypeError, match="nan is no int32"):
        Tensor([float("nan")], dtype=dtypes.int32)
    with pytest.raises(DTypeError, match="does not fit int64"):
        Tensor(2**64)
