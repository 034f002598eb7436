"""Reading GGUF files."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import numpy as np

from tg_core.dtype import to_numpy
from tg_core.errors import StateError
from tg_core.nn.state.bounded_file import BoundedFile, open_bounded
from tg_core.nn.state.gguf_header import GgufEntry, read_gguf_header
from tg_core.nn.state.gguf_types import GGUF_TYPES, GgufType
from tg_core.tensor import Tensor

__all__ = ["gguf_load"]

CHUNK_BYTES = 1 << 20
"""How much is decoded at once: intermediate results stay small beside the tensor."""


def gguf_load(
    path: str | os.PathLike[str],
    device: str | None = None,
    names: Collection[str] | None = None,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Load the metadata and the tensors of a GGUF file.

    Quantized types are decoded to float32, equal bit for bit to the format's reference; F16, BF16,
    F64 and the integers keep their dtypes.

    Args:
        path: the file.
        device: where the tensors go; the default device where None.
        names: the tensors to load; all where None.

    Returns:
        The metadata by name, and tensors by name, in the order of the file.

    Raises:
        FileFormatError: the file cannot be read, is truncated or malformed, or a tensor to load has
            a type that is not supported; the message names the file and the offset.
        StateError: one of `names` is not in the file.
    """
    with open_bounded(path) as file:
        header = read_gguf_header(file)
        if names is not None:
            missing = sorted(set(names) - {entry.name for entry in header.entries})
            if missing:
                raise StateError(f"{file.path}: found no tensor {', '.join(missing[:8])}")
        wanted = [entry for entry in header.entries if names is None or entry.name in names]
        kinds = [_known_type(file, entry) for entry in wanted]
        tensors = {
            entry.name: _read_tensor(file, entry, kind, device)
            for entry, kind in zip(wanted, kinds, strict=True)
        }
    return header.metadata, tensors


def _known_type(file: BoundedFile, entry: GgufEntry) -> GgufType:
    kind = GGUF_TYPES.get(entry.type_number)
    if kind is None:
        known = ", ".join(f"{number} {kind.name}" for number, kind in GGUF_TYPES.items())
        raise file.error(
            entry.record,
            f"tensor {entry.name!r}: type {entry.type_number} is not supported ({known} are);"
            " names= loads the other tensors",
        )
    return kind


def _read_tensor(file: BoundedFile, entry: GgufEntry, kind: GgufType, device: str | None) -> Tensor:
    file.seek(entry.offset)
    if kind.decode is not None:
        return Tensor(_decode(file, entry, kind).reshape(entry.shape), device=device)
    data = np.frombuffer(bytearray(file.take(entry.nbytes, f"tensor {entry.name!r}")), np.uint8)
    known = to_numpy(kind.dtype)
    if known is not None:
        return Tensor(data.view(known).reshape(entry.shape), device=device)
    bits = data.view(f"u{kind.block_bytes}").reshape(entry.shape)
    return Tensor(bits, device=device).bitcast(kind.dtype)


def _decode(file: BoundedFile, entry: GgufEntry, kind: GgufType) -> np.ndarray:
    assert kind.decode is not None
    count = entry.nbytes // kind.block_bytes
    values = np.empty((count, kind.block_values), np.float32)
    step = CHUNK_BYTES // kind.block_bytes
    # Scales that are not finite are values like others.
    with np.errstate(all="ignore"):
        for begin in range(0, count, step):
            end = min(begin + step, count)
            raw = file.take((end - begin) * kind.block_bytes, f"tensor {entry.name!r}")
            blocks = np.frombuffer(raw, np.uint8).reshape(end - begin, kind.block_bytes)
            values[begin:end] = kind.decode(blocks)
    return values
