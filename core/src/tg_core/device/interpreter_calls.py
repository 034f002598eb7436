"""Calls of C functions through pointers, one work item after the other."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.device.interpreter_memory import Storage
from tg_core.device.interpreter_values import value_type
from tg_core.dtype import dtypes, to_dtype
from tg_core.errors import CompileError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_core.device.interpreter_values import Array
    from tg_core.dtype import DType

__all__ = ["C_TYPES", "caller_of"]

C_TYPES: dict[DType, Any] = {
    dtypes.bool: ctypes.c_bool,
    dtypes.int8: ctypes.c_int8,
    dtypes.uint8: ctypes.c_uint8,
    dtypes.int16: ctypes.c_int16,
    dtypes.uint16: ctypes.c_uint16,
    dtypes.int32: ctypes.c_int32,
    dtypes.uint32: ctypes.c_uint32,
    dtypes.int64: ctypes.c_int64,
    dtypes.uint64: ctypes.c_uint64,
    dtypes.float32: ctypes.c_float,
    dtypes.float64: ctypes.c_double,
}
"""What values are to C. Storage is an address."""


def caller_of(name: str, result: str | None, kinds: Sequence[str | None]) -> Callable[..., Any]:
    """Return what calls a function for every work item.

    Args:
        name: of the function, for errors.
        result: dtype of what it returns, or None.
        kinds: dtype of each argument, None for storage.

    Raises:
        CompileError: C has no such value.
    """
    prototype = ctypes.CFUNCTYPE(
        None if result is None else _c_type(name, result),
        *[ctypes.c_void_p if kind is None else _c_type(name, kind) for kind in kinds],
    )
    out = None if result is None else value_type(to_dtype(result))

    def call(pointers: Array, arguments: Sequence[Any], active: Array | None) -> Array | None:
        values = [a for a in arguments if not isinstance(a, Storage)]
        count = max([len(pointers), *map(len, values), 1 if active is None else len(active)])
        results = np.zeros(count, out if out is not None else np.uint8)
        for item in range(count):
            if active is not None and not active[item % len(active)]:
                continue
            address = int(pointers[item % len(pointers)])
            if address == 0:
                raise DeviceError(f"CALL {name}: the pointer is null")
            returned = _call_one(prototype(address), arguments, item)
            if out is not None:
                results[item] = returned
        return results if out is not None else None

    return call


def _c_type(name: str, kind: str) -> Any:
    found = C_TYPES.get(to_dtype(kind))
    if found is None:
        raise CompileError(f"CALL {name}: C has no {kind}")
    return found


def _call_one(function: Callable[..., Any], arguments: Sequence[Any], item: int) -> Any:
    passed: list[Any] = []
    lent: list[tuple[Array, int, Array]] = []
    for argument in arguments:
        if not isinstance(argument, Storage):
            passed.append(argument[item % len(argument)].item())
            continue
        owner = argument.owner
        row = 0 if owner is None else int(owner[item % len(owner)])
        cells = argument.cells[row]
        if not cells.flags.c_contiguous:
            # rows of private arrays lie across each other
            whole, cells = argument.cells, cells.copy()
            lent.append((whole, row, cells))
        passed.append(cells.ctypes.data)
    returned = function(*passed)
    for whole, row, cells in lent:
        whole[row] = cells
    return returned
