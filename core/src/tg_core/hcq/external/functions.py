"""Calls of C functions from host programs."""

from __future__ import annotations

import ctypes
import ctypes.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tg_core.dtype import dtypes
from tg_core.errors import CompileError, DeviceError
from tg_core.hcq.external.c_types import dtype_of
from tg_core.uop.ops import Ops, ParamArg, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_core.dtype import DType

__all__ = [
    "CFunction",
    "ccall",
    "constant_bytes",
    "function_address",
    "host_storage",
    "provide_functions",
    "when",
]

_INT_BITS = 32

_provided: dict[str, dict[str, Any]] = {}
"""Functions of this process by library and name, kept alive."""

_libraries: dict[str, ctypes.CDLL] = {}


@dataclass(frozen=True)
class CFunction:
    """A function of a library, and how C declares it."""

    name: str
    result: type[Any] | None
    """A ctypes type; None for void."""
    parameters: tuple[type[Any], ...]
    library: str = ""
    """As the loader finds it; empty for what this process has loaded already (the C library), or a
    name given to `provide_functions`."""
    variadic: bool = False
    """Whether more arguments may follow."""


def provide_functions(library: str, functions: Mapping[str, Any]) -> None:
    """Let functions of this process be called by the name of a library that does not exist: those
    of an emulated driver.

    Args:
        library: the name.
        functions: ctypes functions by name. They stay alive.
    """
    _provided[library] = dict(functions)


def function_address(library: str, name: str) -> int:
    """Return the address of a function.

    Raises:
        DeviceError: there is no such library or function.
    """
    table = _provided.get(library)
    try:
        if table is not None:
            function = table[name]
        else:
            if library not in _libraries:
                _libraries[library] = ctypes.CDLL(library or None)
            function = getattr(_libraries[library], name)
    except (KeyError, AttributeError, OSError) as error:
        where = library or "this process"
        raise DeviceError(f"host program: no function {name} in {where}: {error}") from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def host_storage(tag: tuple[object, ...], dtype: DType, size: int) -> UOp:
    """Return memory of the runtime device that is found by name when a host program is linked.

    Args:
        tag: the name; first what kind of memory it is.
        dtype: of its elements.
        size: how many.
    """
    parts = [part for part in tag if isinstance(part, str)]
    return UOp(Ops.PARAM, (), ParamArg(-1, dtype, (size,), None, "_".join(parts).lower()), tag)


def constant_bytes(data: bytes) -> UOp:
    """Return memory that holds bytes, such as a text that ends with zero."""
    return host_storage(("cbytes", data), dtypes.uint8, max(len(data), 1))


def ccall(function: CFunction, *arguments: UOp | int | float | bytes) -> UOp:
    """Return a call of a C function: its result, or an effect where it has none.

    Numbers get the width that the function declares; what follows the declared ones of a variadic
    function is promoted as C says. Storage is passed by address, bytes as constant memory.

    Args:
        function: what to call.
        arguments: in order.

    Raises:
        CompileError: the number of arguments does not fit, or one of them.
    """
    given, declared = len(arguments), len(function.parameters)
    if given < declared or (given > declared and not function.variadic):
        raise CompileError(f"ccall {function.name}: {given} arguments, expected {declared}")
    kinds = [*function.parameters, *[None] * (given - declared)]
    passed = [_argument(function, a, k) for a, k in zip(arguments, kinds, strict=True)]
    cell = host_storage(("cfunc", function.library, function.name), dtypes.uint64, 1)
    signature: tuple[object, ...] = (function.name, dtype_of(function.result))
    if function.variadic:
        signature = (*signature, declared)
    pointer = cell.index(UOp.const(0)).load()
    return UOp.call(UOp(Ops.CUSTOM_FUNCTION, (pointer,), signature), *passed)


def _argument(function: CFunction, value: UOp | int | float | bytes, kind: type[Any] | None) -> UOp:
    if isinstance(value, bytes):
        return constant_bytes(value)
    dtype = dtype_of(kind) if kind is not None else None
    if isinstance(value, int | float):
        if dtype is None:
            dtype = dtypes.float64 if isinstance(value, float) else _int_dtype(value)
        return UOp.const(value, dtype)
    if value.shape != ():
        if dtype not in (None, dtypes.uint64):
            raise CompileError(f"ccall {function.name}: storage where {dtype} is expected")
        return value
    return value.cast(dtype if dtype is not None else _promoted(value.dtype))


def _int_dtype(value: int) -> DType:
    return dtypes.int32 if -(1 << 31) <= value < 1 << 31 else dtypes.int64


def _promoted(dtype: DType) -> DType:
    """Return what C passes a value as where nothing is declared.

    Source: C11, 6.5.2.2 paragraph 6, the default argument promotions.
    """
    if dtypes.is_float(dtype):
        return dtypes.float64
    if dtype is dtypes.bool or dtype.bits < _INT_BITS or dtypes.is_weak(dtype):
        return dtypes.int32
    return dtype


def when(condition: UOp, effect: UOp, number: int) -> UOp:
    """Return an effect, such as a call, that happens only under a condition.

    Args:
        condition: a bool.
        effect: what happens; the result of a call is ignored.
        number: of the loop that this becomes, unlike all others of the program.
    """
    if effect.op is Ops.CALL and effect.dtype is not dtypes.void:
        function, *arguments = effect.src
        signature = (function.arg[0], dtypes.void, *function.arg[2:])
        effect = effect.replace(src=(function.replace(arg=signature), *arguments))
    times = condition.where(UOp.const(1, dtypes.int64), UOp.const(0, dtypes.int64))
    loop = UOp.range(times, number)
    storage = [n for n in effect.toposort() if n.op is Ops.PARAM and n.shape != ()]
    # nothing of the effect may move out of the loop that does not depend on its variable
    inside = effect.substitute({node: node.after(loop) for node in storage})
    return inside.end(loop)
