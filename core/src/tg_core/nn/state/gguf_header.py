"""The header of a GGUF file, checked before any of its sizes is believed.

A file is the magic number, a version, the counts of tensors and of metadata, the metadata, one
record per tensor, and the data, which starts at the next multiple of the alignment.

Source: "GGUF", `docs/gguf.md` of the ggml project, versions 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tg_core.nn.state.bounded_file import BoundedFile
from tg_core.nn.state.gguf_types import GGUF_TYPES

__all__ = ["GgufEntry", "GgufHeader", "read_gguf_header"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MAX_ELEMENTS = 1 << 56
MAX_RANK = 4
"""`GGML_MAX_DIMS`."""
MAX_NESTING = 8
"""How deep arrays of arrays may go; the format sets no limit, files have one level."""
SMALLEST_PAIR = 13
"""Bytes of a metadata pair with an empty name and a value of one byte."""
SMALLEST_RECORD = 24
"""Bytes of a tensor record with an empty name and no axes."""

BOOL, STRING, ARRAY = 7, 8, 9
NUMBERS: Mapping[int, str] = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
"""Layouts of the metadata types that are numbers."""


@dataclass(frozen=True)
class GgufEntry:
    """Where one tensor lies in the file."""

    name: str
    type_number: int
    """Key of `GGUF_TYPES`, or a number that is not one."""
    shape: tuple[int, ...]
    """Slowest axis first, the reverse of the file's order."""
    record: int
    """Offset of the tensor's record."""
    offset: int
    """First byte of the data, counted from the start of the file."""
    nbytes: int
    """Size of the data; 0 where the type is unknown."""


@dataclass(frozen=True)
class GgufHeader:
    """What a file says it holds."""

    metadata: dict[str, Any]
    entries: tuple[GgufEntry, ...]


def read_gguf_header(file: BoundedFile) -> GgufHeader:
    """Read and check the header of a file.

    Args:
        file: the file, at its start.

    Returns:
        The metadata and the tensors' places, in the order of the records. A tensor of an unknown
        type is no error yet, since the others can be read without it.

    Raises:
        FileFormatError: the file is truncated, or its header is malformed or contradicts its size.
    """
    magic = file.take(4, "the magic number")
    if magic != MAGIC:
        raise file.error(0, f"expected the magic number {MAGIC!r}, found {magic!r}")
    (version,) = file.unpack("<I", "the version")
    if version not in VERSIONS:
        raise file.error(4, f"version {version} is not supported (2 and 3, little-endian, are)")
    tensors, pairs = file.unpack("<QQ", "the counts")
    if tensors * SMALLEST_RECORD + pairs * SMALLEST_PAIR > file.left():
        raise file.error(
            8, f"{tensors} tensors and {pairs} metadata pairs do not fit in {file.left()} bytes"
        )
    metadata = _read_metadata(file, pairs)
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise file.error(24, f"general.alignment is {alignment!r}, expected a power of two")
    records = [_read_record(file) for _ in range(tensors)]
    start = file.tell() + -file.tell() % alignment
    entries = tuple(_place(file, record, start, alignment) for record in records)
    _check_apart(file, entries)
    return GgufHeader(metadata, entries)


def _read_metadata(file: BoundedFile, pairs: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        at = file.tell()
        name = _read_string(file, "a metadata name")
        if name in metadata:
            raise file.error(at, f"metadata {name!r} appears twice")
        (kind,) = file.unpack("<I", f"the type of metadata {name!r}")
        metadata[name] = _read_value(file, kind, f"metadata {name!r}", 0)
    return metadata


def _read_string(file: BoundedFile, what: str) -> str:
    (length,) = file.unpack("<Q", f"the length of {what}")
    at = file.tell()
    raw = file.take(length, what)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise file.error(at + error.start, f"{what} is not UTF-8") from None


def _read_value(file: BoundedFile, kind: int, what: str, depth: int) -> Any:
    """Read a value; recursion ends at `MAX_NESTING`."""
    at = file.tell()
    if kind == STRING:
        return _read_string(file, what)
    if kind == ARRAY:
        return _read_array(file, what, depth + 1)
    if kind != BOOL and kind not in NUMBERS:
        raise file.error(at - 4, f"{what}: type {kind} is not one of the format's, 0 to 12")
    return _read_numbers(file, kind, 1, what)[0]


def _read_array(file: BoundedFile, what: str, depth: int) -> list[Any]:
    at = file.tell()
    if depth > MAX_NESTING:
        raise file.error(at, f"{what}: arrays are nested more than {MAX_NESTING} deep")
    kind, count = file.unpack("<IQ", f"the head of {what}")
    if kind == BOOL or kind in NUMBERS:
        return _read_numbers(file, kind, count, what)
    smallest = 8 if kind == STRING else 12
    if count * smallest > file.left():
        raise file.error(at, f"{what}: {count} items do not fit in {file.left()} bytes")
    if kind not in (STRING, ARRAY):
        raise file.error(at, f"{what}: type {kind} is not one of the format's, 0 to 12")
    return [_read_value(file, kind, what, depth) for _ in range(count)]


def _read_numbers(file: BoundedFile, kind: int, count: int, what: str) -> list[Any]:
    layout = np.dtype(NUMBERS.get(kind, "u1"))
    at = file.tell()
    values = np.frombuffer(file.take(count * layout.itemsize, what), layout)
    if kind != BOOL:
        return list(values.tolist())
    if values.size and values.max() > 1:
        place = int(np.argmax(values > 1))
        raise file.error(at + place, f"{what}: a bool is {values[place]}, expected 0 or 1")
    return list(values.astype(bool).tolist())


def _read_record(file: BoundedFile) -> GgufEntry:
    """Read a record; its offset is still counted from the start of the data."""
    at = file.tell()
    name = _read_string(file, "a tensor name")
    (rank,) = file.unpack("<I", f"the rank of tensor {name!r}")
    if rank > MAX_RANK:
        raise file.error(at, f"tensor {name!r}: rank {rank} is over {MAX_RANK}")
    sizes = file.unpack(f"<{rank}Q", f"the shape of tensor {name!r}")
    number, offset = file.unpack("<IQ", f"the record of tensor {name!r}")
    shape = tuple(int(size) for size in reversed(sizes))
    # A size of 0 beside others that no memory has room for leaves no bytes to miss.
    if 0 in shape and math.prod(max(size, 1) for size in shape) > MAX_ELEMENTS:
        raise file.error(at, f"tensor {name!r}: shape {shape} has over 2^56 elements")
    return GgufEntry(name, number, shape, at, offset, 0)


def _place(file: BoundedFile, record: GgufEntry, start: int, alignment: int) -> GgufEntry:
    """Check a record against the file's size, and count its offset from the file's start."""
    at, name, shape = record.record, record.name, record.shape
    if record.offset % alignment:
        raise file.error(
            at, f"tensor {name!r}: offset {record.offset} is not a multiple of {alignment}"
        )
    kind = GGUF_TYPES.get(record.type_number)
    nbytes = 0
    if kind is not None:
        row = shape[-1] if shape else 1
        if row % kind.block_values:
            raise file.error(
                at,
                f"tensor {name!r}: the last axis of shape {shape} is not a multiple of"
                f" {kind.block_values}, the block of {kind.name}",
            )
        nbytes = math.prod(shape) // kind.block_values * kind.block_bytes
    offset = start + record.offset
    if offset + nbytes > file.size and (nbytes or kind is None):
        raise file.error(
            at,
            f"tensor {name!r}: its {nbytes} bytes at {offset} end beyond the end of the file at"
            f" {file.size}",
        )
    return GgufEntry(name, record.type_number, shape, at, offset, nbytes)


def _check_apart(file: BoundedFile, entries: tuple[GgufEntry, ...]) -> None:
    """Names must differ, and data must not overlap."""
    names: set[str] = set()
    for entry in entries:
        if entry.name in names:
            raise file.error(entry.record, f"tensor {entry.name!r} appears twice")
        names.add(entry.name)
    end = 0
    for entry in sorted(entries, key=lambda entry: (entry.offset, entry.nbytes)):
        if entry.nbytes and entry.offset < end:
            raise file.error(
                entry.record, f"tensor {entry.name!r}: its data overlaps another tensor's"
            )
        end = max(end, entry.offset + entry.nbytes)
