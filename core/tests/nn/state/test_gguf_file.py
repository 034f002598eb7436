"""GGUF files: decoded values bit for bit, and every malformed file refused with its offset."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tg_core.dtype import dtypes
from tg_core.errors import FileFormatError, StateError
from tg_core.nn.state import gguf_load
from tg_core.nn.state.gguf_types import GGUF_TYPES

Record = tuple[str, int, tuple[int, ...], bytes]
NUMBERS = {kind.name: number for number, kind in GGUF_TYPES.items()}
generator = np.random.default_rng(7)


def load_scalar_decoders() -> dict[str, Callable[[bytes], list[np.float32]]]:
    place = Path(__file__).with_name("gguf_scalar.py")
    spec = importlib.util.spec_from_file_location("gguf_scalar", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    decoders: dict[str, Callable[[bytes], list[np.float32]]] = module.SCALAR_DECODERS
    return decoders


SCALAR_DECODERS = load_scalar_decoders()


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def pair(name: str, kind: int, raw: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + raw


def write_file(
    path: Path, records: Sequence[Record], pairs: tuple[bytes, ...] = (), alignment: int = 32
) -> Path:
    """Write tensors, their axes given fastest first as in the file."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(records), len(pairs)) + b"".join(pairs)
    body = b""
    for name, kind, axes, raw in records:
        body += b"\0" * (-len(body) % alignment)
        head += text(name) + struct.pack(f"<I{len(axes)}Q", len(axes), *axes)
        head += struct.pack("<IQ", kind, len(body))
        body += raw
    path.write_bytes(head + b"\0" * (-len(head) % alignment) + body)
    return path


def random_blocks(name: str, count: int) -> bytes:
    kind = GGUF_TYPES[NUMBERS[name]]
    return generator.integers(0, 256, count * kind.block_bytes, dtype=np.uint8).tobytes()


@pytest.mark.parametrize("name", sorted(SCALAR_DECODERS))
def test_quantized_tensors_decode_bit_for_bit(tmp_path: Path, name: str) -> None:
    kind, raw = GGUF_TYPES[NUMBERS[name]], random_blocks(name, 6)
    axes = (kind.block_values * 2, 3)
    path = write_file(tmp_path / "q.gguf", [("w", NUMBERS[name], axes, raw)])
    tensor = gguf_load(path)[1]["w"]
    size = kind.block_bytes
    with np.errstate(all="ignore"):
        blocks = [SCALAR_DECODERS[name](raw[i * size : (i + 1) * size]) for i in range(6)]
    expected = np.array(blocks, np.float32).reshape(axes[::-1])
    found = tensor.numpy()
    assert tensor.dtype is dtypes.float32
    assert found.shape == expected.shape
    differs = found.view(np.uint32) != expected.view(np.uint32)
    assert not (differs & ~(np.isnan(found) & np.isnan(expected))).any()


def test_every_quantized_type_is_checked() -> None:
    decoded = {kind.name for kind in GGUF_TYPES.values() if kind.decode is not None}
    assert decoded == set(SCALAR_DECODERS)


@pytest.mark.parametrize(
    ("name", "layout"),
    [("F32", "f4"), ("F16", "f2"), ("F64", "f8"), ("I8", "i1"), ("I16", "i2"), ("I32", "i4"),
     ("I64", "i8")],
)  # fmt: skip
def test_plain_tensors_keep_their_dtype(tmp_path: Path, name: str, layout: str) -> None:
    values = np.arange(-3, 3).astype(layout).reshape(2, 3)
    path = write_file(tmp_path / "p.gguf", [("w", NUMBERS[name], (3, 2), values.tobytes())])
    found = gguf_load(path)[1]["w"].numpy()
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


def test_bfloat16_scalar_and_empty_tensors(tmp_path: Path) -> None:
    path = write_file(
        tmp_path / "b.gguf",
        [
            ("b", 30, (2,), struct.pack("<HH", 0x3FC0, 0xC000)),
            ("one", 0, (), struct.pack("<f", 2.5)),
            ("none", 0, (4, 0), b""),
        ],
    )
    tensors = gguf_load(path)[1]
    assert list(tensors) == ["b", "one", "none"]
    assert tensors["b"].dtype is dtypes.bfloat16
    assert tensors["b"].float().tolist() == [1.5, -2.0]
    assert tensors["one"].item() == 2.5
    assert tensors["none"].shape == (0, 4)


METADATA: tuple[tuple[str, int, bytes, Any], ...] = (
    ("u8", 0, b"\xff", 255),
    ("i8", 1, b"\xff", -1),
    ("u16", 2, struct.pack("<H", 65535), 65535),
    ("i16", 3, struct.pack("<h", -2), -2),
    ("u32", 4, struct.pack("<I", 2**32 - 1), 2**32 - 1),
    ("i32", 5, struct.pack("<i", -3), -3),
    ("f32", 6, struct.pack("<f", 0.5), 0.5),
    ("bool", 7, b"\x01", True),
    ("string", 8, text("grüße"[:2]), "gr"),
    ("strings", 9, struct.pack("<IQ", 8, 2) + text("a") + text(""), ["a", ""]),
    ("nested", 9, struct.pack("<IQIQ", 9, 1, 7, 2) + b"\0\1", [[False, True]]),
    ("u64", 10, struct.pack("<Q", 2**64 - 1), 2**64 - 1),
    ("i64", 11, struct.pack("<q", -(2**63)), -(2**63)),
    ("f64", 12, struct.pack("<d", 0.1), 0.1),
)


def test_metadata_of_every_type(tmp_path: Path) -> None:
    pairs = tuple(pair(name, kind, raw) for name, kind, raw, _ in METADATA)
    metadata, tensors = gguf_load(write_file(tmp_path / "m.gguf", [], pairs))
    assert metadata == {name: value for name, _, _, value in METADATA}
    assert tensors == {}


def test_the_alignment_of_the_metadata_counts(tmp_path: Path) -> None:
    wide = pair("general.alignment", 4, struct.pack("<I", 128))
    values = np.arange(3, dtype=np.float32)
    records = [("a", 0, (3,), values.tobytes()), ("b", 0, (3,), (values + 5).tobytes())]
    tensors = gguf_load(write_file(tmp_path / "a.gguf", records, (wide,), alignment=128))[1]
    assert tensors["b"].tolist() == [5.0, 6.0, 7.0]


def test_an_unknown_type_is_named_and_the_others_stay_readable(tmp_path: Path) -> None:
    records = [("blk.0.w", 9999, (32,), b"\0" * 64), ("x", 0, (1,), struct.pack("<f", 1.5))]
    path = write_file(tmp_path / "u.gguf", records)
    with pytest.raises(
        FileFormatError, match=r"offset 24: tensor 'blk.0.w': type 9999 .*2 Q4_0.* are"
    ):
        gguf_load(path)
    assert gguf_load(path, names=["x"])[1]["x"].tolist() == [1.5]
    with pytest.raises(StateError, match="found no tensor y"):
        gguf_load(path, names=["y"])


def test_malformed_headers_invalid(tmp_path: Path) -> None:
    one = struct.pack("<f", 1.0)
    cases: list[tuple[list[Record], tuple[bytes, ...], str]] = [
        ([("w", 0, (2**62, 8), one)], (), r"tensor 'w': its \d+ bytes at 96 end beyond"),
        ([("w", 2, (31,), b"\0" * 18)], (), "not a multiple of 32, the block of Q4_0"),
        ([("w", 0, (1,) * 5, one)], (), "rank 5 is over 4"),
        ([("w", 0, (1,), one), ("w", 0, (1,), one)], (), "tensor 'w' appears twice"),
        ([], (pair("a", 0, b"\1"), pair("a", 0, b"\1")), "metadata 'a' appears twice"),
        ([], (pair("a", 13, b"\1"),), "type 13 is not one of the format's"),
        ([], (pair("a", 7, b"\2"),), "a bool is 2"),
        ([], (pair("a", 8, struct.pack("<Q", 1) + b"\xff"),), "is not UTF-8"),
        ([], (pair("a", 9, struct.pack("<IQ", 9, 1) * 9),), "nested more than 8 deep"),
        ([], (pair("a", 9, struct.pack("<IQ", 8, 2**60)),), "do not fit in 0 bytes"),
        ([], (pair("general.alignment", 4, struct.pack("<I", 0)),), "expected a power of two"),
    ]
    for number, (records, pairs, message) in enumerate(cases):
        path = write_file(tmp_path / f"{number}.gguf", records, pairs, 1 if not records else 32)
        with pytest.raises(FileFormatError, match=rf"\.gguf: offset \d+: .*{message}"):
            gguf_load(path)


def test_overlapping_and_misaligned_tensors_invalid(tmp_path: Path) -> None:
    values = struct.pack("<f", 1.0) * 16
    path = write_file(tmp_path / "o.gguf", [("a", 0, (16,), values), ("b", 0, (16,), values)])
    raw, place = path.read_bytes(), path.read_bytes().rindex(struct.pack("<Q", 64))
    for offset, message in ((32, "overlaps another"), (8, "not a multiple of 32")):
        path.write_bytes(raw[:place] + struct.pack("<Q", offset) + raw[place + 8 :])
        with pytest.raises(FileFormatError, match=f"tensor 'b': .*{message}"):
            gguf_load(path)


def whole_file(path: Path) -> bytes:
    pairs = tuple(pair(name, kind, raw) for name, kind, raw, _ in METADATA)
    records: list[Record] = [
        ("q", NUMBERS["Q4_K"], (256,), random_blocks("Q4_K", 1)),
        ("f", 0, (2, 3), b"\0" * 24),
    ]
    return write_file(path, records, pairs).read_bytes()


def test_every_truncation_is_refused_with_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "t.gguf"
    whole = whole_file(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"t\.gguf: offset \d+: "):
            gguf_load(path)


def test_bit_flips_are_refused_or_change_values_only(tmp_path: Path) -> None:
    path = tmp_path / "f.gguf"
    whole = whole_file(path)
    head = whole.index(b"\0" * 24)
    refused = 0
    for position in range(head):
        for bit in (0, 3, 7):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << bit
            path.write_bytes(flipped)
            try:
                gguf_load(path)
            except FileFormatError as error:
                assert f"{path}: offset " in str(error)  # noqa: PT017
                refused += 1
    assert refused > 300


def test_a_missing_file_is_named_invalid(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"none\.gguf: cannot be read"):
        gguf_load(tmp_path / "none.gguf")
