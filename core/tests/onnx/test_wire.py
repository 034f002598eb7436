from __future__ import annotations

import pytest

from tg_core.onnx.wire import find_fault


def field(number: int, payload: bytes) -> bytes:
    return bytes([number << 3 | 2, len(payload)]) + payload


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", None),
        (b"\x08\x07", None),
        (field(7, field(1, field(4, b"Add"))), None),
        (b"\x08", (0, "field 1 of a model does not end")),
        (b"\x08\xff\xff", (0, "field 1 of a model does not end")),
        (b"\x08\x07\x00", (2, "no field of a model starts here")),
        (b"\x08\x07\x0b\x00", (2, "field 1 of a model has the unknown wire type 3")),
        (b"\x3a\x7f\x00", (0, "field 7 of a model takes 127 bytes, found 1")),
        (b"\x0d\x00\x00", (3, "the last field of a model is cut off")),
        (field(7, field(1, b"\x2a\x30")), (4, "field 5 of a node takes 48 bytes, found 0")),
        (field(7, b"\x00") + b"\x08\x07", (2, "no field of a graph starts here")),
    ],
)
def test_faults_are_found_where_they_are(data: bytes, expected: tuple[int, str] | None) -> None:
    assert find_fault(data) == expected
