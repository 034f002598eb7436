"""A batch of host calls as a table, and the host program that makes the calls of any such table.

The table is one array of 64-bit words. It begins with a row for each call, and goes on with the
arguments of the kernels, each kernel's array of slots after the other's. A row is a function and
three arguments for it: `kernel, slots, 0, 0` for a kernel of one chunk, else `runner, kernel,
slots, chunks` with the function by which the device runs a kernel's chunks on its threads. A copy
is `memmove, destination, source, bytes`.

Words that are known when a batch is linked are written once. The others are patched by the host
program at every run: a patch is a position in the table, the number of an input and what is added
to it.

Because all that differs between batches is data, there is one host program per process. It is
compiled by the same passes and kept in the same caches as any kernel.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from tg_core.dtype import dtypes
from tg_core.hcq.arguments import Argument, call_device, parse_argument
from tg_core.uop.ops import KernelInfo, Ops, UOp

if TYPE_CHECKING:
    from tg_core.uop.ops import ProgramInfo, sint

ROW: Final = 4
"""Words of a row: a function and three arguments.

A function may take fewer: the calling conventions of C (System V, AAPCS64, Microsoft x64) pass
the first four integers in registers, which a function with fewer parameters ignores.
"""

PATCH: Final = 3
"""Words of a patch: position in the table, number of the input, addend."""

_MOST: Final = 1 << 24
"""Bound on rows and patches, small enough for 32-bit arithmetic on positions."""


@dataclass(slots=True)
class Launch:
    """One call of a kernel, over the parameters of its batch."""

    device: str
    program: UOp
    info: ProgramInfo
    buffers: tuple[Argument, ...]
    """In the order of the kernel's arguments."""
    variables: tuple[UOp, ...]
    """Scalar parameters, in the order of `ProgramInfo.variables`."""

    @property
    def chunks(self) -> sint:
        """How many chunks, as a number or over the parameters of the batch."""
        size = self.info.global_size[0]
        if isinstance(size, int):
            return size
        return size.substitute(dict(zip(self.info.variables, self.variables, strict=True)))


@dataclass(slots=True)
class Move:
    """One copy within the memory of this process, over the parameters of its batch."""

    destination: Argument
    source: Argument

    @property
    def nbytes(self) -> int:
        """How much is copied, in bytes."""
        return self.source.size * self.source.dtype.itemsize


def host_call_of(call: UOp, parsed: dict[UOp, Argument]) -> Launch | Move:
    """Split a call of a kernel or a copy into what its row takes.

    Args:
        call: over the parameters of a batch.
        parsed: arguments that were looked at before; grows.
    """

    def parse(node: UOp) -> Argument:
        found = parsed.get(node)
        if found is None:
            found = parsed[node] = parse_argument(node)
        return found

    program = call.src[0]
    if program.op is Ops.COPY:
        return Move(parse(call.src[1]), parse(call.src[2]))
    info: ProgramInfo = program.arg
    return Launch(
        call_device(call),
        program,
        info,
        tuple([parse(call.src[1 + slot]) for slot in info.params]),
        tuple([call.src[1 + variable.arg.slot] for variable in info.variables]),
    )


@cache
def move_address() -> int:
    """Return the address of C's `memmove`."""
    address = ctypes.cast(ctypes.memmove, ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def host_program() -> UOp:
    """Return the kernel that patches a table and makes its calls.

    Its arguments are the table, the inputs, the patches, and how many patches and calls there are.
    """
    table, inputs, patches = (UOp.param(i, dtypes.int64, (_MOST * ROW,)) for i in range(3))
    patch = UOp.range(UOp.variable("patches", 0, _MOST, slot=3), 0)
    position, source, addend = (patches.index(patch * PATCH + i).load() for i in range(PATCH))
    word = inputs.index(source).load() + addend
    patched = table.index(position).store(word).end(patch)
    row = UOp.range(UOp.variable("calls", 0, _MOST, slot=4), 1)
    ready = table.after(patched)
    function, *arguments = (ready.index(row * ROW + i).load() for i in range(ROW))
    call = UOp.call(UOp(Ops.CUSTOM_FUNCTION, (function,), "host_call"), *arguments)
    return UOp.sink(call.end(row), arg=KernelInfo("host_calls", ()))
