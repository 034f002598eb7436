"""Headers of safetensors files: what is accepted, and that every flaw is named with its offset."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import pytest

from tg_core.dtype import dtypes
from tg_core.errors import FileFormatError
from tg_core.nn.state.safetensors_header import HEADER_LIMIT, Header, read_header


def make_file(fields: Any, data: bytes = b"", padding: int = 0) -> bytes:
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    text += b" " * padding
    return struct.pack("<Q", len(text)) + text + data


def read(raw: bytes) -> Header:
    return read_header(io.BytesIO(raw), len(raw), "model.safetensors")


def entry(dtype: Any, shape: Any, span: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": span}


def test_entries_come_in_the_order_of_their_data() -> None:
    raw = make_file(
        {
            "b": entry("F32", [2, 1], [2, 10]),
            "a": entry("BF16", [], [0, 2]),
            "__metadata__": {"format": "pt"},
        },
        bytes(10),
    )
    header = read(raw)
    assert [e.name for e in header.entries] == ["a", "b"]
    assert [e.dtype for e in header.entries] == [dtypes.bfloat16, dtypes.float32]
    assert [e.shape for e in header.entries] == [(), (2, 1)]
    assert [e.offset for e in header.entries] == [len(raw) - 10, len(raw) - 8]
    assert header.metadata == {"format": "pt"}


@pytest.mark.parametrize("padding", range(8))
def test_any_alignment_of_the_data_is_accepted(padding: int) -> None:
    raw = make_file({"x": entry("I64", [1], [0, 8])}, bytes(8), padding)
    assert read(raw).entries[0].offset == len(raw) - 8


def test_zero_sized_tensors_take_no_bytes() -> None:
    fields = {
        "none": entry("F32", [0, 4], [0, 0]),
        "one": entry("U8", [1], [0, 1]),
        "end": entry("F16", [3, 0], [1, 1]),
    }
    assert [e.nbytes for e in read(make_file(fields, b"\1")).entries] == [0, 1, 0]


def test_a_file_without_tensors_is_legal() -> None:
    assert read(make_file({})).entries == ()


@pytest.mark.parametrize(
    ("raw", "offset", "message"),
    [
        (b"", 0, "found 0"),
        (b"\1\0\0\0", 0, "found 4"),
        (struct.pack("<Q", 10) + b"{}", 0, "beyond the end of the file at 10"),
        (struct.pack("<Q", 2**64 - 1) + b"{}", 0, "over the limit"),
        (struct.pack("<Q", HEADER_LIMIT + 1) + b"{}", 0, "over the limit"),
        (make_file(b"[]"), 8, "expected a JSON object"),
        (make_file(b"{"), 9, "malformed header"),
        (make_file(b'{"x": \xff}'), 14, "not UTF-8"),
        (make_file(b'{"x": ' + b"[" * 200_000), 8, "malformed header"),
        (make_file(b'{"x": ' + b"9" * 10_000 + b"}"), 8, "malformed header"),
        (make_file(b'{"x": 1, "x": 2}'), 8, "'x' appears twice"),
        (make_file({"__metadata__": {"a": 1}}), 8, "expected strings"),
        (make_file({"x": 1}), 9, "expected an object"),
        (make_file({"x": entry("Q7", [1], [0, 1])}, b"1"), 9, "'Q7' is not supported"),
        (make_file({"x": entry(["F32"], [1], [0, 4])}, b"1234"), 9, "is not supported"),
        (make_file({"x": entry("U8", [-1], [0, 1])}, b"1"), 9, "malformed shape"),
        (make_file({"x": entry("U8", [True], [0, 1])}, b"1"), 9, "malformed shape"),
        (make_file({"x": entry("U8", [1.0], [0, 1])}, b"1"), 9, "malformed shape"),
        (make_file({"x": entry("U8", None, [0, 1])}, b"1"), 9, "malformed shape"),
        (make_file({"x": entry("U8", [1], [1, 0])}, b"1"), 9, "malformed data_offsets"),
        (make_file({"x": entry("U8", [1], [0])}, b"1"), 9, "malformed data_offsets"),
        (make_file({"x": entry("U8", [1], [-1, 0])}, b"1"), 9, "malformed data_offsets"),
    ],
)
def test_flaws_are_named_with_their_offset_invalid(raw: bytes, offset: int, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(raw)
    assert str(caught.value).startswith(f"model.safetensors: offset {offset}: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("fields", "data", "relative", "message"),
    [
        ({"x": entry("F32", [2], [0, 8])}, bytes(7), 0, "beyond the end of the file"),
        ({"x": entry("F32", [2], [0, 4])}, bytes(4), 0, "takes 8 bytes, found 4"),
        ({"x": entry("F32", [2**62, 2**62], [0, 4])}, bytes(4), 0, "takes"),
        ({"x": entry("U8", [1], [0, 1])}, bytes(3), 1, "2 bytes belong to no tensor"),
        (
            {"x": entry("U8", [2], [0, 2]), "y": entry("U8", [2], [1, 3])},
            bytes(3),
            1,
            "'y': its data overlaps",
        ),
        (
            {"x": entry("U8", [1], [0, 1]), "y": entry("U8", [1], [2, 3])},
            bytes(3),
            2,
            "'y': its data follows a hole",
        ),
    ],
)
def test_data_must_fit_the_file_invalid(
    fields: Any, data: bytes, relative: int, message: str
) -> None:
    raw = make_file(fields, data)
    offset = len(raw) - len(data) + relative
    with pytest.raises(FileFormatError, match=f"offset {offset}: ") as caught:
        read(raw)
    assert message in str(caught.value)


def test_every_truncation_of_a_file_is_an_error_invalid() -> None:
    raw = make_file({"x": entry("F32", [2], [0, 8]), "y": entry("U8", [], [8, 9])}, bytes(9))
    for length in range(len(raw)):
        with pytest.raises(FileFormatError, match="offset"):
            read(raw[:length])
