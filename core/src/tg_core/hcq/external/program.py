"""Host programs that no batch makes: effects on named memory, compiled, linked and called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.hcq.compile import compiled_host_program, load_host_program
from tg_core.hcq.external.fields import placeholders_in, split_fields
from tg_core.hcq.external.memory import HostMemory
from tg_core.uop.ops import KernelInfo, UOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg_core.device import Buffer

__all__ = ["HostProgram", "number_placeholders"]

_GRID = (1, 1, 1)


def number_placeholders(body: UOp, first: Sequence[UOp] = ()) -> tuple[UOp, list[UOp]]:
    """Turn placeholders into the arguments of a kernel.

    Args:
        body: a kernel SINK over placeholders.
        first: the placeholders that get the first numbers; others follow by first use.

    Returns:
        The kernel, and the placeholder of each argument.
    """
    placeholders = list(dict.fromkeys([*first, *placeholders_in([body])]))
    numbers = {
        node: UOp.param(slot, node.dtype, node.arg.shape) for slot, node in enumerate(placeholders)
    }
    return body.substitute(numbers), placeholders


class HostProgram:
    """A host program, linked to memory.

    Args:
        effects: stores and calls over placeholders. Their order is what AFTER says.
        storage: the memory of placeholders that are not the host's own.
        name: for the name of the compiled function.

    Raises:
        CompileError: the runtime device's renderer does not take it, or memory is not known.
        DeviceError: there is no runtime device, or a function is missing.
    """

    def __init__(
        self, effects: Sequence[UOp], storage: Mapping[UOp, Buffer], name: str = "host"
    ) -> None:
        body, fields = split_fields(UOp.sink(*effects, arg=KernelInfo(name, ())))
        self.body, placeholders = number_placeholders(body)
        self.memory = HostMemory(fields, storage)
        self.arguments = self.memory.prepare(placeholders)
        self._program = load_host_program(self.body)
        used = compiled_host_program(self.body).arg.params
        self._opaques = [self.arguments[slot].opaque for slot in used]

    def __call__(self) -> None:
        """Call it."""
        self._program(self._opaques, (), _GRID, _GRID)
