"""Specifications of LINEARs of calls, from the schedule to hardware queues.

* `spec_calls`: a LINEAR whose entries are calls, each of which is given what its body asks for.
* `spec_queue`: what one queue is given: calls, and instructions on addresses.

They judge the graph around the bodies of calls; `passes.verify` judges the bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.dtype import dtypes
from tg_core.uop.args import ProgramInfo
from tg_core.uop.graph import has_own_body, toposort
from tg_core.uop.opcodes import Ops
from tg_core.uop.spec import Spec
from tg_core.uop.spec_rules import has_storage
from tg_core.uop.spec_table import TENSOR

if TYPE_CHECKING:
    from tg_core.uop.uop import UOp

_SOURCES_OF = {"barrier": 0, "timestamp": 1, "wait": 2, "store": 2}
"""Instructions of queues that every backend knows, with their number of sources."""


def linear_of_calls(u: UOp) -> str | None:
    """Require that all entries are calls."""
    for entry in u.src:
        if entry.op is not Ops.CALL:
            return f"entries are calls, found {entry.op.name}"
    return None


def linear_of_operations(u: UOp) -> str | None:
    """Require that all entries are calls or instructions."""
    for entry in u.src:
        if entry.op not in (Ops.CALL, Ops.INS):
            return f"entries are calls and instructions, found {entry.op.name}"
    return None


def call_arguments(u: UOp) -> str | None:
    """Require storage and integers as arguments, as many as the body has parameters, and of their
    dtypes.
    """
    if not has_own_body(u):
        return None
    arguments = u.src[1:]
    for position, argument in enumerate(arguments):
        if argument.shape and not has_storage(argument):
            return f"argument {position} is no storage, found {argument.op.name}"
        if not argument.shape and not dtypes.is_int(argument.dtype):
            return f"argument {position} is no integer, found {argument.dtype.name}"
    for parameter in _parameters(u.src[0]):
        slot = parameter.arg.slot
        if not 0 <= slot < len(arguments):
            return f"the body has parameter {slot}, the call {len(arguments)} arguments"
        given = arguments[slot]
        if bool(given.shape) != bool(parameter.shape):
            return f"argument {slot} has shape {given.shape}, its parameter {parameter.shape}"
        if given.shape and given.dtype is not parameter.dtype:
            return f"argument {slot} is {given.dtype.name}, its parameter {parameter.dtype.name}"
    return None


def _parameters(body: UOp) -> list[UOp]:
    if isinstance(body.arg, ProgramInfo):
        return list(body.arg.variables)
    if body.op not in (Ops.SINK, Ops.LINEAR):
        return []
    order = toposort((body,), enter_calls=False)
    return [node for node in order if node.op is Ops.PARAM and node.tag is None]


def queue_instruction(u: UOp) -> str | None:
    """Require an instruction with its address, and with a value where it takes one."""
    wanted = _SOURCES_OF.get(u.arg)
    if wanted is None:
        return f"instructions are {', '.join(_SOURCES_OF)}; found {u.arg!r}"
    if len(u.src) != wanted:
        return f"{u.arg} has {wanted} sources, found {len(u.src)}"
    if u.src and u.src[0].op is not Ops.GETADDR:
        return f"{u.arg} takes an address, found {u.src[0].op.name}"
    if wanted == 2 and not dtypes.is_int(u.src[1].dtype):
        return f"{u.arg} takes an integer, found {u.src[1].dtype.name}"
    return None


def address_of_storage(u: UOp) -> str | None:
    """Require storage, and a device with a byte offset."""
    if len(u.src) != 1 or not has_storage(u.src[0]):
        return "an address is that of storage"
    if type(u.arg) is tuple and len(u.arg) == 2 and type(u.arg[1]) is int and u.arg[1] >= 0:
        return None
    return f"argument must be (device, byte offset), found {u.arg!r}"


spec_calls = Spec(
    "spec_calls", TENSOR, {Ops.LINEAR: (linear_of_calls,), Ops.CALL: (call_arguments,)}
)
"""A LINEAR of calls."""
spec_queue = Spec(
    "spec_queue",
    TENSOR,
    {
        Ops.LINEAR: (linear_of_operations,),
        Ops.INS: (queue_instruction,),
        Ops.GETADDR: (address_of_storage,),
    },
)
"""The operations of one queue."""
