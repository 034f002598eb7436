"""C structures in memory of the host, laid out as ctypes describes them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.hcq.external.c_types import Place, is_pointer, places_of
from tg_core.hcq.external.functions import constant_bytes, host_storage
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.dtype import DType

__all__ = ["FIELD", "address_of", "address_value", "cstruct", "linked_value"]

FIELD = "field"
"""What the argument of an INS that fills a field begins with; then come offset and bytes."""

_WORD = (1 << 64) - 1
_WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def address_of(storage: UOp) -> UOp:
    """Return the address of memory of the host, as a value."""
    return UOp(Ops.GETADDR, (storage,), (None, 0))


def address_value(storage: UOp, device: str | None = None, offset: int = 0) -> UOp:
    """Return the address of memory as a value that a program reads, not as a word of a structure.

    Args:
        storage: the memory; not an input of a batch.
        device: who looks at it; None for the host.
        offset: bytes into it.
    """
    return _linked(UOp(Ops.GETADDR, (storage,), (device, offset)))


def linked_value(number: int) -> UOp:
    """Return a number that is written when a program is linked. Programs that differ in nothing but
    such numbers, like descriptors of files, are one in all caches.

    Args:
        number: of 64 bits at most.
    """
    return _linked(UOp.const(number & _WORD, dtypes.uint64))


def _linked(value: UOp) -> UOp:
    cell = host_storage(("cell", value.key), dtypes.uint64, 1)
    return cell.after(UOp(Ops.INS, (cell, value), (FIELD, 0, 8))).index(UOp.const(0)).load()


def cstruct(layout: type[Any], label: str = "", /, **fields: Any) -> UOp:
    """Return memory with a structure in it.

    Fields that are known when a program is linked are written then, addresses of other memory and
    of other structures among them; fields whose values are computed are written by the program,
    before whatever uses the structure. All others are zero.

    Args:
        layout: a `ctypes.Structure` or `Union`.
        label: tells structures of equal content apart, if they are not to be the same memory.
        fields: by name: a number, a node, storage or bytes whose address is meant, a mapping for a
            structure inside, a sequence for an array.

    Returns:
        Storage of bytes, as long as the structure.

    Raises:
        CompileError: a field does not exist or does not take its value.
    """
    written: list[tuple[int, int, UOp]] = []
    packed: dict[tuple[int, int], int] = {}
    for place in places_of(layout, fields):
        nbytes = ctypes.sizeof(place.kind)
        if place.bits is not None:
            low, wide = place.bits
            value = _bits_of(layout, place, wide) << low
            packed[place.offset, nbytes] = packed.get((place.offset, nbytes), 0) | value
        else:
            written.append((place.offset, nbytes, _field_value(layout, place, nbytes)))
    for (offset, nbytes), value in packed.items():
        written.append((offset, nbytes, UOp.const(value, _WORDS[nbytes])))
    content = tuple([(offset, nbytes, value.key) for offset, nbytes, value in written])
    tag = ("cstruct", layout.__name__, label, content)
    memory = host_storage(tag, dtypes.uint8, max(ctypes.sizeof(layout), 1))
    if not written:
        return memory
    return memory.after(
        *[UOp(Ops.INS, (memory, value), (FIELD, at, nbytes)) for at, nbytes, value in written]
    )


def _bits_of(layout: type[Any], place: Place, wide: int) -> int:
    if not isinstance(place.value, int):
        raise CompileError(f"{layout.__name__}: a bit field takes a number, found {place.value!r}")
    if not -(1 << (wide - 1)) <= place.value < 1 << wide:
        raise CompileError(f"{layout.__name__}: {place.value} does not fit {wide} bits")
    return place.value & ((1 << wide) - 1)


def _field_value(layout: type[Any], place: Place, nbytes: int) -> UOp:
    """Return the bits of a field as an unsigned number."""
    value, dtype = place.value, _WORDS.get(nbytes)
    if dtype is None:
        raise CompileError(f"{layout.__name__}: no field of {nbytes} bytes")
    if isinstance(value, bytes) and not is_pointer(place.kind):
        return UOp.const(int.from_bytes(value, "little"), dtype)
    if isinstance(value, bytes):
        return address_of(constant_bytes(value))
    if isinstance(value, UOp):
        return _node_value(layout, place, value, dtype)
    try:
        data = bytes(place.kind(value))
    except (TypeError, ValueError, OverflowError):
        raise CompileError(
            f"{layout.__name__}: field of {place.kind.__name__} cannot hold {value!r}"
        ) from None
    return UOp.const(int.from_bytes(data, "little"), dtype)


def _node_value(layout: type[Any], place: Place, value: UOp, dtype: DType) -> UOp:
    if value.shape != ():
        if dtype is not dtypes.uint64:
            raise CompileError(f"{layout.__name__}: an address in {dtype.itemsize} bytes")
        return address_of(value)
    if dtypes.is_float(value.dtype):
        if value.dtype.itemsize != dtype.itemsize or place.kind._type_ not in "fd":
            raise CompileError(
                f"{layout.__name__}: {value.dtype.name} in a field of {place.kind.__name__}"
            )
        return value.bitcast(dtype)
    return value.cast(dtype)
