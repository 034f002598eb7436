"""Reading and writing safetensors files, through the `safetensors` package."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np

from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.errors import DTypeError, FileFormatError, MissingExtra
from tg_core.nn.state.safetensors_header import DTYPE_CODES, Entry, Header, read_header
from tg_core.tensor import Tensor

__all__ = ["safe_load", "safe_load_metadata", "safe_save"]

_BITS: Mapping[int, DType] = {1: dtypes.uint8, 2: dtypes.uint16}
"""Carriers, by item size, of dtypes that numpy does not have."""

_PACKAGE_NAMES: Mapping[DType, str] = {
    dtypes.fp8e4m3: "float8_e4m3fn",
    dtypes.fp8e5m2: "float8_e5m2",
    dtypes.fp8e4m3fnuz: "float8_e4m3fnuz",
    dtypes.fp8e5m2fnuz: "float8_e5m2fnuz",
}
"""The package's names of dtypes where they differ from ours."""


def safe_load(path: str | os.PathLike[str], device: str | None = None) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file.

    Args:
        path: the file.
        device: where the tensors go; the default device where None.

    Returns:
        Tensors by name, in the order of their data. They do not depend on the file afterwards.

    Raises:
        FileFormatError: the file cannot be read, is truncated or malformed; the message names the
            file and the offset, and nothing was loaded.
        MissingExtra: the package `safetensors` is not installed.
    """
    header = _checked_header(path)
    loaded = {}
    try:
        with open(path, "rb") as file:
            for entry in header.entries:
                loaded[entry.name] = _to_tensor(_read(file.fileno(), entry, path), entry, device)
    except OSError as error:
        raise FileFormatError(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
    return loaded


def safe_load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata of a safetensors file.

    Raises:
        FileFormatError: the file cannot be read, is truncated or malformed.
        MissingExtra: the package `safetensors` is not installed.
    """
    return _checked_header(path).metadata


def safe_save(
    tensors: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors to a safetensors file.

    The file appears under its name only when it is complete.

    Args:
        tensors: tensors by name; they are realized.
        path: the file; one that exists is replaced.
        metadata: strings to store beside them.

    Raises:
        DTypeError: a tensor's dtype has no name in the format.
        MissingExtra: the package `safetensors` is not installed.
        OSError: the file cannot be written.
    """
    package = _safetensors()
    arrays = {name: _to_array(name, tensor) for name, tensor in tensors.items()}
    specs = {
        name: package.TensorSpec(
            dtype=_PACKAGE_NAMES.get(tensors[name].dtype, tensors[name].dtype.name),
            shape=list(tensors[name].shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
        for name, array in arrays.items()
    }
    target = Path(path)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        package.serialize_file(specs, str(partial), None if metadata is None else dict(metadata))
        partial.replace(target)
    except package.SafetensorError as error:
        raise OSError(f"{target}: cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _safetensors() -> ModuleType:
    try:
        import safetensors
    except ImportError as error:
        raise MissingExtra(
            "safetensors: the package is not installed; pip install 'tg-core[io]'"
        ) from error
    return safetensors


def _checked_header(path: str | os.PathLike[str]) -> Header:
    """Check the header here, so that errors name the offset; the reference parser has a veto."""
    package = _safetensors()
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            header = read_header(file, os.fstat(file.fileno()).st_size, name)
        with package.safe_open(name, framework="numpy"):
            return header
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read: {error.strerror or error}") from error
    except package.SafetensorError as error:
        raise FileFormatError(f"{name}: offset 0: {error}") from error


def _read(descriptor: int, entry: Entry, path: str | os.PathLike[str]) -> np.ndarray:
    """Read a tensor's bytes into memory of their own, aligned whatever the offset in the file."""
    data = np.empty(entry.nbytes, np.uint8)
    filled = 0
    while filled < entry.nbytes:
        count = os.preadv(descriptor, [data[filled:].data], entry.offset + filled)
        if count == 0:
            raise FileFormatError(
                f"{os.fspath(path)}: offset {entry.offset + filled}: the file ends inside tensor"
                f" {entry.name!r}"
            )
        filled += count
    return data


def _to_tensor(data: np.ndarray, entry: Entry, device: str | None) -> Tensor:
    known = to_numpy(entry.dtype)
    if known is not None:
        return Tensor(data.view(known).reshape(entry.shape), device=device)
    bits = data.view(f"u{entry.dtype.itemsize}").reshape(entry.shape)
    return Tensor(bits, device=device).bitcast(entry.dtype)


def _to_array(name: str, tensor: Tensor) -> np.ndarray:
    if tensor.dtype not in DTYPE_CODES.values():
        raise DTypeError(
            f"safe_save: tensor {name!r} is {tensor.dtype.name}, expected one of"
            f" {', '.join(dtype.name for dtype in DTYPE_CODES.values())}"
        )
    if to_numpy(tensor.dtype) is None:
        tensor = tensor.contiguous().bitcast(_BITS[tensor.dtype.itemsize])
    return np.ascontiguousarray(tensor.numpy())
