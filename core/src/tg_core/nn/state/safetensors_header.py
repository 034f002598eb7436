"""The header of a safetensors file, checked before any of its sizes is believed.

A file is an 8-byte little-endian length, a JSON object of that length, and the data. The object
maps a tensor's name to `dtype`, `shape` and `data_offsets` (begin and end, counted from the start
of the data); `__metadata__` maps strings to strings.

Source: "Safetensors file format", README of the safetensors project, section Format.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeGuard

from tg_core.dtype import DType, dtypes
from tg_core.errors import FileFormatError

__all__ = ["DTYPE_CODES", "Entry", "Header", "read_header"]

DTYPE_CODES: Mapping[str, DType] = {
    "BOOL": dtypes.bool,
    "U8": dtypes.uint8,
    "I8": dtypes.int8,
    "U16": dtypes.uint16,
    "I16": dtypes.int16,
    "U32": dtypes.uint32,
    "I32": dtypes.int32,
    "U64": dtypes.uint64,
    "I64": dtypes.int64,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "F32": dtypes.float32,
    "F64": dtypes.float64,
    "F8_E4M3": dtypes.fp8e4m3,
    "F8_E5M2": dtypes.fp8e5m2,
    "F8_E4M3FNUZ": dtypes.fp8e4m3fnuz,
    "F8_E5M2FNUZ": dtypes.fp8e5m2fnuz,
}
"""The format's names of the dtypes that tensors can have."""

LENGTH_BYTES = 8
HEADER_LIMIT = 100_000_000
"""Longest header, in bytes; the reference parser has the same limit."""


@dataclass(frozen=True)
class Entry:
    """Where one tensor lies in the file."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    offset: int
    """First byte, counted from the start of the file."""
    nbytes: int


@dataclass(frozen=True)
class Header:
    """What a file says it holds."""

    entries: tuple[Entry, ...]
    metadata: dict[str, str]


def read_header(file: BinaryIO, size: int, path: str) -> Header:
    """Read and check the header of a file.

    Args:
        file: the file, at its start.
        size: its size in bytes.
        path: its name, for errors.

    Returns:
        The entries, in the order of their data, and the metadata.

    Raises:
        FileFormatError: the file is truncated, or its header is malformed or contradicts its size.
    """
    if size < LENGTH_BYTES:
        raise _error(path, 0, f"expected a header length of {LENGTH_BYTES} bytes, found {size}")
    (length,) = struct.unpack("<Q", file.read(LENGTH_BYTES))
    if length > HEADER_LIMIT:
        raise _error(path, 0, f"header length {length} is over the limit of {HEADER_LIMIT} bytes")
    start = LENGTH_BYTES + length
    if start > size:
        raise _error(
            path, 0, f"header length {length} reaches beyond the end of the file at {size}"
        )
    raw = file.read(length)
    fields = _parse_json(raw, path)
    metadata = _check_metadata(fields.pop("__metadata__", {}), path)
    entries = [
        _check_entry(name, value, start, size, path, _locate(raw, name))
        for name, value in fields.items()
    ]
    entries.sort(key=lambda entry: (entry.offset, entry.nbytes))
    _check_layout(entries, start, size, path)
    return Header(tuple(entries), metadata)


def _parse_json(raw: bytes, path: str) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        raise _error(path, LENGTH_BYTES + error.pos, f"malformed header: {error.msg}") from None
    except UnicodeDecodeError as error:
        at = LENGTH_BYTES + error.start
        raise _error(path, at, "malformed header: not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _error(path, LENGTH_BYTES, f"malformed header: {error}") from None
    if not isinstance(value, dict):
        raise _error(path, LENGTH_BYTES, "malformed header: expected a JSON object")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} appears twice")
    return fields


def _check_metadata(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise _error(path, LENGTH_BYTES, "__metadata__: expected strings by name")
    return value


def _check_entry(name: str, value: Any, start: int, size: int, path: str, at: int) -> Entry:
    if not isinstance(value, dict):
        raise _error(path, at, f"tensor {name!r}: expected an object")
    code, shape, span = value.get("dtype"), value.get("shape"), value.get("data_offsets")
    dtype = DTYPE_CODES.get(code) if isinstance(code, str) else None
    if dtype is None:
        known = ", ".join(DTYPE_CODES)
        raise _error(path, at, f"tensor {name!r}: dtype {code!r} is not supported ({known} are)")
    if not _are_sizes(shape):
        raise _error(path, at, f"tensor {name!r}: malformed shape {_short(shape)}")
    if not _are_sizes(span) or len(span) != 2 or span[0] > span[1]:
        raise _error(path, at, f"tensor {name!r}: malformed data_offsets {_short(span)}")
    begin, end = span
    if start + end > size:
        raise _error(
            path,
            min(start + begin, size),
            f"tensor {name!r}: data ends at {start + end}, beyond the end of the file at {size}",
        )
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes != end - begin:
        raise _error(
            path,
            start + begin,
            f"tensor {name!r}: {code} of shape {_short(shape)} takes {_short(nbytes)} bytes,"
            f" found {end - begin}",
        )
    return Entry(name, dtype, tuple(shape), start + begin, nbytes)


def _check_layout(entries: list[Entry], start: int, size: int, path: str) -> None:
    """The tensors must follow each other without overlap or hole, up to the end of the file."""
    position = start
    for entry in entries:
        if entry.offset != position:
            kind = "overlaps the tensor before it" if entry.offset < position else "follows a hole"
            raise _error(path, entry.offset, f"tensor {entry.name!r}: its data {kind}")
        position += entry.nbytes
    if position != size:
        raise _error(path, position, f"{size - position} bytes belong to no tensor")


def _are_sizes(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _locate(raw: bytes, name: str) -> int:
    """Offset of a tensor's name in the file; of the header where it is written with escapes."""
    return LENGTH_BYTES + max(raw.find(f'"{name}"'.encode()), 0)


def _short(value: object) -> str:
    text = str(value) if not isinstance(value, int) or value < 10**40 else "over 1e40"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _error(path: str, offset: int, message: str) -> FileFormatError:
    return FileFormatError(f"{path}: offset {offset}: {message}")
