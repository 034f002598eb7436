"""Reading files that `torch.save` wrote, without PyTorch and without running their code."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from typing import IO, Any, cast

import numpy as np

from tg_core.dtype import DType, dtypes, to_numpy
from tg_core.nn.state.bounded_file import BoundedFile, open_bounded
from tg_core.nn.state.pickle_machine import PickleMachine, RefusedPickle
from tg_core.nn.state.torch_globals import Storage, TorchGlobals
from tg_core.tensor import Tensor

__all__ = ["torch_load"]

ZIP_MAGIC = b"PK\x03\x04"
LOCAL_HEADER_BYTES = 30
"""APPNOTE.TXT of the zip format, 4.3.7: the fixed part of a local file header."""
LOCAL_LENGTHS_AT = 26
DIRECTORY_END_BYTES = 22
"""The same, 4.3.16: the record that ends an archive."""
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
"""`MAGIC_NUMBER` of `torch/serialization.py`."""
LEGACY_PROTOCOL = 1001


def torch_load(path: str | os.PathLike[str], device: str | None = None) -> Any:
    """Load what `torch.save` wrote, in the zip format or the one before it.

    Tensors that share a storage are views of one buffer. Only tensors, numbers, strings and
    containers of them are read; anything else that the file names is refused, and nothing of the
    file is executed.

    Args:
        path: the file.
        device: where the tensors go; the default device where None.

    Returns:
        The saved object, mostly a dict of tensors by name.

    Raises:
        FileFormatError: the file cannot be read, is truncated or malformed, or names what is not
            allowed; the message names the file and the offset.
    """
    with open_bounded(path) as file:
        magic = file.read(len(ZIP_MAGIC))
        file.seek(0)
        if magic == ZIP_MAGIC:
            return _ZipFile(file, device).load_object()
        return _load_legacy(file, device)


class _Storages:
    """Tensors of storages, each made once, so that views share it."""

    def __init__(self, device: str | None) -> None:
        self.device = device
        self.bytes: dict[str, bytes] = {}
        self.tensors: dict[tuple[str, DType], Tensor] = {}

    def load(self, storage: Storage, dtype: DType) -> Tensor:
        """Return a storage as elements of a dtype, shape `(count,)`."""
        key = (storage.key, dtype)
        if key not in self.tensors:
            raw = self.read(storage)
            if len(raw) != storage.count * storage.dtype.itemsize:
                raise RefusedPickle(
                    f"storage {storage.key}: {storage.count} elements of"
                    f" {storage.dtype.name} do not take the {len(raw)} bytes found"
                )
            self.tensors[key] = self._to_tensor(raw, dtype)
        return self.tensors[key]

    def read(self, storage: Storage) -> bytes:
        """Return the bytes of a storage."""
        if storage.key not in self.bytes:
            raise RefusedPickle(f"storage {storage.key} is not in the file")
        return self.bytes[storage.key]

    def _to_tensor(self, raw: bytes, dtype: DType) -> Tensor:
        data = np.frombuffer(bytearray(raw), np.uint8)[
            : len(raw) // dtype.itemsize * dtype.itemsize
        ]
        if dtype is dtypes.bool:
            return Tensor(data != 0, device=self.device)
        known = to_numpy(dtype)
        if known is not None:
            return Tensor(data.view(known), device=self.device)
        return Tensor(data.view(f"u{dtype.itemsize}"), device=self.device).bitcast(dtype)


class _ZipFile(_Storages):
    """A zip archive of a pickle, `data.pkl`, and one member per storage, `data/KEY`."""

    def __init__(self, file: BoundedFile, device: str | None) -> None:
        super().__init__(device)
        self.file = file
        self.taken = 0
        try:
            with zipfile.ZipFile(cast("IO[bytes]", file)) as archive:
                self.members = {info.filename: info for info in archive.infolist()}
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            NotImplementedError,
            OverflowError,
            ValueError,
            EOFError,
            struct.error,
            # A directory may place itself before the file.
            OSError,
        ) as error:
            at = max(file.size - DIRECTORY_END_BYTES, 0)
            raise file.error(at, f"malformed zip directory: {error}") from None
        pickles = [name for name in self.members if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise file.error(0, f"expected one member data.pkl, found {len(pickles)}")
        self.folder = pickles[0].removesuffix("data.pkl")

    def load_object(self) -> Any:
        """Return the saved object."""
        order = self.folder + "byteorder"
        if order in self.members and self._take(order)[0] != b"little":
            raise self.file.error(
                max(self.members[order].header_offset, 0), "only little-endian data is supported"
            )
        raw, at = self._take(self.folder + "data.pkl")
        pickled = BoundedFile(io.BytesIO(raw), len(raw), self.file.path, base=at)
        names = TorchGlobals(self.load)
        return PickleMachine(pickled, names.find_global, names.load_persistent).run()

    def read(self, storage: Storage) -> bytes:
        name = f"{self.folder}data/{storage.key}"
        if name not in self.members:
            raise RefusedPickle(f"storage {storage.key} is not in the file")
        return self._take(name)[0]

    def _take(self, name: str) -> tuple[bytes, int]:
        """Return a member's bytes and their offset; checked against the archive's checksum."""
        info, file = self.members[name], self.file
        # A crafted directory may place a member before the file.
        start = max(info.header_offset, 0)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise file.error(start, f"member {name}: it is compressed or encrypted")
        # Members of a crafted archive may lie over each other.
        self.taken += info.file_size
        if info.file_size != info.compress_size or self.taken > file.size or start > file.size:
            raise file.error(start, f"member {name}: its size contradicts the file's")
        file.seek(start)
        if file.take(len(ZIP_MAGIC), f"member {name}") != ZIP_MAGIC:
            raise file.error(start, f"member {name}: its header is malformed")
        file.seek(start + LOCAL_LENGTHS_AT)
        name_bytes, extra_bytes = file.unpack("<HH", f"member {name}")
        at = start + LOCAL_HEADER_BYTES + name_bytes + extra_bytes
        file.seek(at)
        raw = file.take(info.file_size, f"member {name}")
        if zlib.crc32(raw) != info.CRC:
            raise file.error(at, f"member {name}: its checksum differs, the data is damaged")
        return raw, at


def _load_legacy(file: BoundedFile, device: str | None) -> Any:
    """Load the format before zip: four pickles, the storages' keys, and their data."""
    noted = TorchGlobals(None)
    if file.read(1) != b"\x80":
        raise file.error(0, "expected a zip archive or a pickle, as torch.save writes")
    file.seek(0)
    if _run(file, noted) != LEGACY_MAGIC:
        raise file.error(0, "expected the magic number of torch.save")
    at = file.tell()
    protocol = _run(file, noted)
    if protocol != LEGACY_PROTOCOL:
        raise file.error(at, f"expected protocol {LEGACY_PROTOCOL}")
    at = file.tell()
    system = _run(file, noted)
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise file.error(at, "only little-endian data is supported")
    # The data comes after the object that refers to it: the object is read twice.
    start = file.tell()
    _run(file, noted)
    at = file.tell()
    keys = _run(file, noted)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise file.error(at, "expected a list of storage keys")
    storages = _Storages(device)
    for key in keys:
        at = file.tell()
        storage = noted.storages.get(key)
        if storage is None or key in storages.bytes:
            raise file.error(at, f"storage {key[:80]} is unknown or appears twice")
        (count,) = file.unpack("<q", f"the size of storage {key[:80]}")
        # A storage without a dtype counts bytes in one place and elements in the other.
        if count < 0 or (count != storage.count and storage.dtype is not dtypes.uint8):
            raise file.error(
                at, f"storage {key[:80]}: expected {storage.count} elements, found {count}"
            )
        storages.bytes[key] = file.take(
            storage.count * storage.dtype.itemsize, f"storage {key[:80]}"
        )
    file.seek(start)
    return _run(file, TorchGlobals(storages.load))


def _run(file: BoundedFile, names: TorchGlobals) -> Any:
    return PickleMachine(file, names.find_global, names.load_persistent).run()
