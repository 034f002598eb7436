"""Digests against hashlib."""

import hashlib

import pytest
from tensor_eval import value

from tg_core.dtype import dtypes
from tg_core.errors import DTypeError, ShapeError
from tg_core.tensor import Tensor


@pytest.mark.parametrize(
    ("name", "length"),
    [("sha3_224", 3), ("sha3_256", 135), ("sha3_256", 136), ("sha3_384", 0), ("sha3_512", 73)],
)
def test_sha3(name: str, length: int) -> None:
    data = bytes(range(256)) * 2
    wanted = hashlib.new(name, data[:length]).digest()
    got = value(Tensor(list(data[:length]), dtype=dtypes.uint8).keccak(name))
    assert bytes(got.tolist()) == wanted


def test_shake_of_rows() -> None:
    rows = [[1, 2, 3], [4, 5, 6]]
    got = value(Tensor(rows, dtype=dtypes.uint8).keccak("shake_128"))
    assert [bytes(r) for r in got.tolist()] == [
        hashlib.shake_128(bytes(r)).digest(16) for r in rows
    ]


def test_hash_of_a_tree() -> None:
    data = bytes(i % 251 for i in range(200))
    padded = data + bytes(320 - 200)
    halves = [hashlib.shake_128(padded[i : i + 160]).digest(16) for i in (0, 160)]
    wanted = hashlib.shake_128(b"".join(halves) + bytes(160 - 32)).digest(16)
    assert bytes(value(Tensor(data).hash()).tolist()) == wanted


def test_errors() -> None:
    with pytest.raises(DTypeError, match="cfg 'md5'"):
        Tensor(b"a").keccak("md5")
    with pytest.raises(DTypeError, match="expected uint8"):
        Tensor([1]).keccak()
    with pytest.raises(ShapeError, match="axis of bytes"):
        Tensor(1, dtype=dtypes.uint8).keccak()
