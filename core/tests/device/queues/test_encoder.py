from __future__ import annotations

import pytest

from tg_core.device.queues.encoder import HWQueue, placeholder, width
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.uop.ops import Ops, UOp


class Named:
    name = "X"


def queue() -> HWQueue:
    return HWQueue(Named(), "COMPUTE", 0)  # type: ignore[arg-type]  # only the name is read


def test_numbers_take_four_bytes_and_constants_their_width() -> None:
    made = queue()
    assert made.append(-1, 1 << 33 | 5) == 8
    assert made.append(UOp.const(-2, dtypes.int64), UOp.const(7, dtypes.uint32)) == 20
    data, patches, length, blobs = made.finish()
    assert data.hex() == "ffffffff05000000feffffffffffffff07000000"
    assert (patches, length, blobs) == ([], 20, {})


def test_unknown_words_are_noted_with_their_place() -> None:
    made = queue()
    n = UOp.variable("n", 0, 9, dtypes.int32, 0)
    base = placeholder(("slots",), dtypes.uint64, 4, "X")
    where = UOp(Ops.GETADDR, (base,), ("X", 8))
    made.append(1, n, where)
    data, patches, _, _ = made.finish()
    assert (len(data), patches) == (16, [(4, n), (8, where)])
    assert (width(n), width(where)) == (4, 8)


def test_blobs_come_after_the_commands_aligned() -> None:
    made = queue()
    first, second = made.blob(1, 2), made.blob(3)
    made.append(9)
    data, _, length, places = made.finish()
    assert (length, places) == (4, {first: 128, second: 256})
    assert (data[128:136].hex(), data[256:260].hex()) == ("0100000002000000", "03000000")


def test_wide_numbers_are_two_words() -> None:
    assert queue().wide(0x1122334455667788) == (0x55667788, 0x11223344)


@pytest.mark.parametrize(
    "what", ["exec", "copy", "wait", "wait_equal", "timestamp", "store", "submit"]
)
def test_operations_that_a_queue_lacks_are_named(what: str) -> None:
    made = queue()
    arguments = {
        "exec": 1,
        "copy": 3,
        "wait": 2,
        "wait_equal": 2,
        "timestamp": 1,
        "store": 2,
        "submit": 1,
    }
    with pytest.raises(CompileError, match=f"X: HWQueue of queue COMPUTE:0 has no {what}"):
        getattr(made, what)(*[None] * arguments[what])
