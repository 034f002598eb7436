"""The memory that host programs name: pointers to functions, structures, bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.hcq.compile import runtime_device
from tg_core.hcq.external.fields import placeholders_in
from tg_core.hcq.external.functions import function_address
from tg_core.hcq.launch_size import LaunchSize
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_core.hcq.external.fields import Field

__all__ = ["HostMemory"]

_pointers: dict[tuple[str, str, str], Buffer] = {}
"""Cells with the addresses of functions: by device, library and name."""


class HostMemory:
    """Finds the memory behind the placeholders of one host program.

    Args:
        fields: what is written into structures.
        given: memory that is known already.
        elsewhere: asked for what is none of the host's: the memory behind a placeholder, or None.
        address: returns the address of storage of a device, for a GETADDR with a device's name.
    """

    def __init__(
        self,
        fields: Mapping[UOp, list[Field]],
        given: Mapping[UOp, Buffer],
        elsewhere: Callable[[UOp], Buffer | None] | None = None,
        address: Callable[[UOp], int] | None = None,
    ) -> None:
        self.fields, self.found = fields, dict(given)
        self._elsewhere, self._device_address = elsewhere, address
        self.device = runtime_device()

    def prepare(self, placeholders: list[UOp]) -> list[Buffer]:
        """Return the memory of placeholders, in order; structures are written, and whatever they
        point to.

        Raises:
            CompileError: nobody knows one of them, or a field is not known.
            DeviceError: a function does not exist.
        """
        todo = list(placeholders)
        structures = []
        while todo:
            node = todo.pop()
            if node not in self.found:
                self.found[node] = self._make(node)
                structures.append(node)
                todo.extend(placeholders_in([f.value for f in self.fields.get(node, ())]))
        for node in structures:
            self._write(node)
        return [self.found[node] for node in placeholders]

    def address(self, buffer: Buffer) -> int:
        """Return where memory of the runtime device is, for host programs."""
        place: int = Device[self.device].allocator.address(buffer.opaque)
        return place

    def _make(self, node: UOp) -> Buffer:
        tag = node.tag
        answer = self._elsewhere(node) if self._elsewhere is not None else None
        if answer is not None:
            return answer
        if isinstance(tag, tuple) and node.arg.device is None:
            if tag[0] == "cfunc":
                return _pointer(self.device, *tag[1:])
            if tag[0] == "cbytes":
                data: bytes = tag[1]
                return self._buffer(node).copyin(data.ljust(1, b"\0"))
            if tag[0] in ("cstruct", "cell"):
                made = self._buffer(node)
                return made.copyin(bytes(made.nbytes))
        raise CompileError(f"host program: no memory is known for {node.arg.name} ({tag!r})")

    def _buffer(self, node: UOp) -> Buffer:
        return Buffer(self.device, node.arg.shape[0], node.dtype).allocate()

    def _write(self, node: UOp) -> None:
        fields = self.fields.get(node)
        if not fields:
            return
        data = bytearray(self.found[node].copyout(bytearray(self.found[node].nbytes)))
        for offset, nbytes, value in fields:
            number = self._number(value) & ((1 << 8 * nbytes) - 1)
            data[offset : offset + nbytes] = number.to_bytes(nbytes, "little")
        self.found[node].copyin(data)

    def _number(self, value: UOp) -> int:
        """Return the value of a field."""
        known: dict[UOp, UOp] = {}
        for node in value.toposort():
            if node.op is Ops.GETADDR:
                known[node] = UOp.const(self._resolve(node), dtypes.uint64)
        return LaunchSize(value.substitute(known)).value({})

    def _resolve(self, node: UOp) -> int:
        device, offset = node.arg
        storage = node.src[0]
        if device is None and storage in self.found:
            return self.address(self.found[storage]) + int(offset)
        if device is None or self._device_address is None:
            raise CompileError(f"host program: the address of {storage.arg} is not known")
        return self._device_address(node)


def _pointer(device: str, library: str, name: str) -> Buffer:
    found = _pointers.get((device, library, name))
    address = function_address(library, name)
    if found is None:
        found = _pointers[device, library, name] = Buffer(device, 1, dtypes.uint64).allocate()
    return found.copyin(address.to_bytes(8, "little"))
