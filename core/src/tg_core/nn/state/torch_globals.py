"""What a torch file may name: storages, dtypes, and the functions that rebuild tensors.

Source: `torch/_utils.py` and `torch/serialization.py` of PyTorch 2.9, which write these names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tg_core.dtype import DType, dtypes
from tg_core.errors import ShapeError
from tg_core.nn.state.pickle_machine import AllowedFunction, RefusedPickle, checked_key
from tg_core.nn.state.strided_view import strided_view
from tg_core.tensor import Tensor

__all__ = ["Storage", "TorchGlobals"]

STORAGE_DTYPES: Mapping[str, DType] = {
    "BoolStorage": dtypes.bool,
    "ByteStorage": dtypes.uint8,
    "CharStorage": dtypes.int8,
    "ShortStorage": dtypes.int16,
    "IntStorage": dtypes.int32,
    "LongStorage": dtypes.int64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "UntypedStorage": dtypes.uint8,
}
"""Storage classes of `torch` and the dtypes of their elements."""

TORCH_DTYPES: Mapping[str, DType] = {
    "bool": dtypes.bool,
    "uint8": dtypes.uint8,
    "int8": dtypes.int8,
    "uint16": dtypes.uint16,
    "int16": dtypes.int16,
    "uint32": dtypes.uint32,
    "int32": dtypes.int32,
    "uint64": dtypes.uint64,
    "int64": dtypes.int64,
    "float16": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
    "float8_e4m3fn": dtypes.fp8e4m3,
    "float8_e5m2": dtypes.fp8e5m2,
    "float8_e4m3fnuz": dtypes.fp8e4m3fnuz,
    "float8_e5m2fnuz": dtypes.fp8e5m2fnuz,
}
"""Attributes of `torch` that are dtypes we have."""

MAX_RANK = 64
"""PyTorch's own limit."""


@dataclass(frozen=True)
class StorageType:
    """A storage class of `torch`."""

    dtype: DType


@dataclass(frozen=True)
class Storage:
    """A reference to a storage of the file, or to a part of it."""

    key: str
    dtype: DType
    count: int
    """Elements of the whole storage."""
    offset: int = 0
    """Where the part begins, in elements."""


class TorchGlobals:
    """Resolves the globals and persistent ids of a torch pickle.

    Args:
        load: from a storage and the dtype its elements are read as to a tensor of shape `(n,)`;
            None to note the storages and build no tensors.
    """

    def __init__(self, load: Callable[[Storage, DType], Tensor] | None) -> None:
        self.load = load
        self.storages: dict[str, Storage] = {}
        """The storages met, by key."""
        self.allowed: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): AllowedFunction("OrderedDict", _ordered_dict),
            ("torch", "Size"): AllowedFunction("torch.Size", _size),
            ("torch", "device"): AllowedFunction("torch.device", _device),
            ("_codecs", "encode"): AllowedFunction("_codecs.encode", _encode),
            # Sets are calls up to protocol 3; protocol 2 has Python 2's name of the module.
            ("builtins", "set"): AllowedFunction("set", _set),
            ("__builtin__", "set"): AllowedFunction("set", _set),
            ("torch.storage", "UntypedStorage"): StorageType(dtypes.uint8),
        }
        for name, build in (
            ("_rebuild_tensor", self._rebuild_tensor),
            ("_rebuild_tensor_v2", self._rebuild_tensor),
            ("_rebuild_tensor_v3", self._rebuild_typed_tensor),
            ("_rebuild_parameter", self._rebuild_parameter),
        ):
            self.allowed["torch._utils", name] = AllowedFunction(name, build)
        for name, dtype in STORAGE_DTYPES.items():
            self.allowed["torch", name] = StorageType(dtype)
        for name, dtype in TORCH_DTYPES.items():
            self.allowed["torch", name] = dtype

    def find_global(self, module: str, name: str) -> Any:
        """Return what stands in for a global.

        Raises:
            RefusedPickle: it is not allowed.
        """
        found = self.allowed.get((module, name))
        if found is None:
            raise RefusedPickle(
                f"{_short(module)}.{_short(name)} is not allowed: only tensors, numbers, strings"
                " and their containers can be loaded, without running code of the file"
            )
        return found

    def load_persistent(self, value: Any) -> Storage:
        """Return the storage that a persistent id names.

        Raises:
            RefusedPickle: it is malformed.
        """
        if not isinstance(value, tuple) or len(value) not in (5, 6) or value[0] != "storage":
            raise RefusedPickle("malformed storage reference")
        _, kind, key, _, count = value[:5]
        if not isinstance(kind, StorageType) or not isinstance(key, str) or not _is_size(count):
            raise RefusedPickle("malformed storage reference")
        whole = self.storages.setdefault(key, Storage(key, kind.dtype, count))
        if whole != Storage(key, kind.dtype, count):
            raise RefusedPickle(f"storage {_short(key)} is described in two ways")
        part = value[5] if len(value) == 6 else None
        if part is None:
            return whole
        if not isinstance(part, tuple) or len(part) != 3 or not _is_size(part[1]):
            raise RefusedPickle(f"storage {_short(key)}: malformed part")
        return Storage(key, kind.dtype, count, part[1])

    def _rebuild_tensor(self, arguments: tuple[Any, ...]) -> Tensor | None:
        if len(arguments) < 4 or not isinstance(arguments[0], Storage):
            raise RefusedPickle("malformed tensor")
        return self._view(arguments, arguments[0].dtype)

    def _rebuild_typed_tensor(self, arguments: tuple[Any, ...]) -> Tensor | None:
        if len(arguments) < 7 or not isinstance(arguments[0], Storage):
            raise RefusedPickle("malformed tensor")
        if not isinstance(arguments[6], DType):
            raise RefusedPickle("malformed tensor: expected a dtype")
        return self._view(arguments, arguments[6])

    def _view(self, arguments: tuple[Any, ...], dtype: DType) -> Tensor | None:
        storage, offset, shape, strides = arguments[:4]
        sizes = (offset, *shape, *strides) if _are_tuples(shape, strides) else (None,)
        if not all(_is_size(size) for size in sizes) or len(shape) > MAX_RANK:
            raise RefusedPickle(f"storage {_short(storage.key)}: malformed shape or strides")
        if self.load is None:
            return None
        elements = self.load(storage, dtype)
        try:
            return strided_view(elements, storage.offset + offset, shape, strides)
        except ShapeError as error:
            raise RefusedPickle(f"storage {_short(storage.key)}: {_short(str(error))}") from None

    def _rebuild_parameter(self, arguments: tuple[Any, ...]) -> Any:
        if not arguments or not (arguments[0] is None or isinstance(arguments[0], Tensor)):
            raise RefusedPickle("malformed parameter")
        return arguments[0]


def _ordered_dict(arguments: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    if arguments:
        raise RefusedPickle("OrderedDict: expected no arguments")
    return OrderedDict()


def _size(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(arguments) != 1 or not isinstance(arguments[0], (list, tuple)):
        raise RefusedPickle("torch.Size: expected a tuple")
    return tuple(arguments[0])


def _device(arguments: tuple[Any, ...]) -> str:
    if not arguments or not isinstance(arguments[0], str):
        raise RefusedPickle("torch.device: expected a name")
    return ":".join(str(part) for part in arguments if isinstance(part, (str, int)))


def _encode(arguments: tuple[Any, ...]) -> bytes:
    """Bytes are written as Latin-1 text by protocol 2."""
    if len(arguments) != 2 or not isinstance(arguments[0], str) or arguments[1] != "latin1":
        raise RefusedPickle("_codecs.encode: expected Latin-1 text")
    try:
        return arguments[0].encode("latin-1")
    except UnicodeEncodeError:
        raise RefusedPickle("_codecs.encode: expected Latin-1 text") from None


def _set(arguments: tuple[Any, ...]) -> set[Any]:
    if len(arguments) != 1 or not isinstance(arguments[0], list):
        raise RefusedPickle("set: expected a list")
    return {checked_key(value) for value in arguments[0]}


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _are_tuples(*values: Any) -> bool:
    return all(isinstance(value, tuple) for value in values)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}..."
