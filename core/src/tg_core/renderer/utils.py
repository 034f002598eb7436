"""What the renderers of text share: the arguments of a program and the structure of its loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tg_core.errors import CompileError
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.uop.ops import UOp


@dataclass(frozen=True)
class Arguments:
    """The PARAMs of a linear program in argument order: buffers, then variables, each by slot."""

    buffers: tuple[UOp, ...]
    variables: tuple[UOp, ...]

    @property
    def all(self) -> tuple[UOp, ...]:
        """Buffers, then variables."""
        return (*self.buffers, *self.variables)


def arguments_of(linear: UOp) -> Arguments:
    """Return the arguments of a linear program.

    Args:
        linear: LINEAR of a kernel.
    """
    params = [uop for uop in linear.src if uop.op is Ops.PARAM]
    buffers = [uop for uop in params if uop.shape != ()]
    variables = [uop for uop in params if uop.shape == ()]
    buffers.sort(key=_slot)
    variables.sort(key=_slot_and_name)
    return Arguments(tuple(buffers), tuple(variables))


def _slot(param: UOp) -> int:
    slot: int = param.arg.slot
    return slot


def _slot_and_name(param: UOp) -> tuple[int, str]:
    return param.arg.slot, param.arg.name or ""


def lanes_of(uop: UOp) -> int:
    """Return the number of lanes of a value of a linear program; 0 for a scalar.

    Raises:
        CompileError: the value has more than one axis, or a symbolic one.
    """
    if not uop.shape:
        return 0
    (lanes,) = uop.shape if len(uop.shape) == 1 else (None,)
    if not isinstance(lanes, int):
        raise CompileError(f"{uop.op.name}: shape {uop.shape} is not a vector of lanes")
    return lanes


def lane_index(uop: UOp) -> int | None:
    """Return `i` when a node is `INDEX(vector, i)` with a constant, else None."""
    if uop.op is not Ops.INDEX or uop.arg is not None or is_storage(uop.src[0]):
        return None
    value = uop.src[1].const_value
    return None if value is None else int(value)  # type: ignore[arg-type]  # Invalid is no lane


def foreign_function(call: UOp) -> UOp:
    """Return the CUSTOM_FUNCTION of a call through a pointer.

    Raises:
        CompileError: the call has another body, or the function no pointer.
    """
    function = call.src[0]
    if function.op is not Ops.CUSTOM_FUNCTION or len(function.src) != 1:
        raise CompileError(f"CALL: expected a function with its pointer, found {function.op.name}")
    return function


def variadic_from(call: UOp) -> int | None:
    """Return how many parameters a variadic function declares, None for any other function."""
    arg = call.src[0].arg
    return arg[2] if type(arg) is tuple and len(arg) > 2 else None


def is_storage(uop: UOp) -> bool:
    """Tell whether a node names storage rather than a value."""
    return uop.op is Ops.BUFFER or (uop.op is Ops.PARAM and uop.shape != ())
