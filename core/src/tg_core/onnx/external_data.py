"""Tensors whose data is in another file beside the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tg_core.errors import FileFormatError

__all__ = ["read_external"]

LOCATION, OFFSET, LENGTH = "location", "offset", "length"
"""The keys of `TensorProto.external_data`."""


def read_external(proto: Any, folder: Path | None, expected: int, what: str) -> bytes:
    """Return the bytes of a tensor from the file that it names.

    Args:
        proto: the `TensorProto`.
        folder: the folder of the model; None when the model did not come from a file.
        expected: how many bytes the tensor takes.
        what: what errors name.

    Raises:
        FileFormatError: the file is not below the folder, cannot be read, or is too short.
    """
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get(LOCATION, "")
    if folder is None:
        raise FileFormatError(
            f"onnx: {what}: its data is in the file {location!r}; load the model by its path"
        )
    path = _contained(folder, location, what)
    offset, length = (_number(entries, key, what) for key in (OFFSET, LENGTH))
    if LENGTH in entries and length != expected:
        raise FileFormatError(
            f"onnx: {what}: takes {expected} bytes, {location!r} is said to hold {length}"
        )
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if offset + expected > size:
                raise FileFormatError(
                    f"onnx: {what}: {location!r}: offset {offset}: takes {expected} bytes, the "
                    f"file has {size}"
                )
            file.seek(offset)
            return file.read(expected)
    except OSError as error:
        raise FileFormatError(
            f"onnx: {what}: {location!r} cannot be read: {error.strerror or error}"
        ) from error


def _contained(folder: Path, location: str, what: str) -> Path:
    """Return the path of a file below the folder; links that lead out of it are refused too."""
    home = folder.resolve()
    try:
        path = (home / location).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"onnx: {what}: {location!r} is no path: {error}") from error
    if not location or os.path.isabs(location) or not path.is_relative_to(home):
        raise FileFormatError(f"onnx: {what}: {location!r} is not below the folder of the model")
    if not path.is_file():
        raise FileFormatError(f"onnx: {what}: {location!r} is not a file")
    return path


def _number(entries: dict[str, str], key: str, what: str) -> int:
    text = entries.get(key, "0")
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise FileFormatError(f"onnx: {what}: {key} {text!r} is no number")
    return int(text)
