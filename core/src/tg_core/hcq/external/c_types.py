"""ctypes descriptions -> dtypes, and structures -> the places of their fields."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tg_core.dtype import dtypes
from tg_core.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_core.dtype import DType

__all__ = ["Place", "dtype_of", "is_pointer", "places_of"]

_SIMPLE: Final[type[Any]] = ctypes.c_int.__mro__[1]
_POINTERS: Final = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_wchar_p)
_SIGNED: Final = {1: dtypes.int8, 2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}
_UNSIGNED: Final = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
_POINTER_BASES: Final = (
    ctypes._Pointer,  # the base of all POINTER types has no public name
    ctypes._CFuncPtr,  # type: ignore[attr-defined]  # nor has that of CFUNCTYPE
)


def is_pointer(kind: type[Any]) -> bool:
    """Tell whether a ctypes type holds an address."""
    return issubclass(kind, (*_POINTERS, *_POINTER_BASES))


def dtype_of(kind: type[Any] | None) -> DType:
    """Return the dtype of a ctypes type: of a pointer its address, of None void.

    Raises:
        CompileError: it is no plain value.
    """
    if kind is None:
        return dtypes.void
    if is_pointer(kind):
        return dtypes.uint64
    if not issubclass(kind, _SIMPLE):
        raise CompileError(f"ctypes {kind.__name__}: no number and no pointer")
    letter: str = kind._type_
    size = ctypes.sizeof(kind)
    if letter == "?":
        return dtypes.bool
    if letter in "fd":
        return dtypes.float32 if letter == "f" else dtypes.float64
    if letter in "bhilq":
        return _SIGNED[size]
    if letter in "cBHILQ":
        return _UNSIGNED[size]
    raise CompileError(f"ctypes {kind.__name__}: C has no such number of {size} bytes")


@dataclass(frozen=True)
class Place:
    """Where a value goes in a structure."""

    offset: int
    """Byte offset."""
    kind: type[Any]
    """Of the value."""
    value: Any
    bits: tuple[int, int] | None = None
    """First bit and number of bits, of a bit field."""


def places_of(layout: type[Any], values: Mapping[str, Any]) -> list[Place]:
    """Return where values of a structure go, in order of their names there.

    Args:
        layout: a `ctypes.Structure` or `Union`.
        values: by field. A structure inside takes a mapping of its own, an array a sequence.

    Raises:
        CompileError: there is no such field, or a value of the wrong form.
    """
    found: list[Place] = []
    todo: list[tuple[int, type[Any], Any, tuple[int, int] | None]] = [(0, layout, values, None)]
    while todo:
        offset, kind, value, bits = todo.pop()
        if issubclass(kind, ctypes.Structure | ctypes.Union):
            todo.extend(reversed(_members(offset, kind, value)))
        elif issubclass(kind, ctypes.Array):
            todo.extend(reversed(_elements(offset, kind, value)))
        else:
            found.append(Place(offset, kind, value, bits))
    return found


def _members(
    offset: int, kind: type[Any], value: Any
) -> list[tuple[int, type[Any], Any, tuple[int, int] | None]]:
    if not hasattr(value, "items"):
        raise CompileError(f"{kind.__name__}: expected its fields by name, found {value!r}")
    kinds: dict[str, type[Any]] = {}
    for base in reversed(kind.__mro__):
        for field in base.__dict__.get("_fields_", ()):
            kinds[field[0]] = field[1]
    members = []
    for name, inner in value.items():
        if name not in kinds:
            raise CompileError(f"{kind.__name__}: no field {name}; there are {', '.join(kinds)}")
        place = getattr(kind, name)
        # ctypes packs number and position of the bits of a bit field into its size
        wide, low = place.size >> 16, place.size & 0xFFFF
        bits = (low, wide) if wide else None
        members.append((offset + place.offset, kinds[name], inner, bits))
    return members


def _elements(
    offset: int, kind: type[Any], value: Sequence[Any]
) -> list[tuple[int, type[Any], Any, tuple[int, int] | None]]:
    inner: type[Any] = kind._type_
    length: int = kind._length_
    if isinstance(value, bytes | bytearray):
        value = [bytes([byte]) for byte in value] if inner is ctypes.c_char else list(value)
    if not isinstance(value, list | tuple) or len(value) > length:
        raise CompileError(f"{kind.__name__}: expected at most {length} values, found {value!r}")
    step = ctypes.sizeof(inner)
    return [(offset + i * step, inner, item, None) for i, item in enumerate(value)]
