"""The kernels that REF runs: in the language of the interpreter, or native functions of the host.

The text of a native kernel is a line `REF native`, a line of JSON with its name and arguments, and
then what the renderer of the runtime device has compiled. `DEV=REF:NATIVE` chooses it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from tg_core.backend import (
    Buffer,
    BufferOptions,
    Device,
    InterpreterProgram,
    Ops,
    ProgramInfo,
    Renderer,
    UOp,
    dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Kernel", "NativeRenderer", "read_kernel"]

NATIVE = b"REF native\n"
HOST = "CPU"
"""The device whose functions native kernels are."""


@dataclass(frozen=True)
class Kernel:
    """What a text says of a kernel."""

    name: str
    arguments: list[tuple[str, int | None]]
    """The dtype of each, and the number of elements; None for the value of a variable."""
    load: Callable[[], Callable[..., Any]]
    """Returns what runs it."""


def read_kernel(text: bytes) -> Kernel:
    """Read the text of a kernel, of either kind."""
    if text.startswith(NATIVE):
        head, code = text[len(NATIVE) :].split(b"\n", 1)
        said = json.loads(head)
        name, arguments = said["name"], [tuple(argument) for argument in said["arguments"]]
        return Kernel(name, arguments, lambda: _NativeProgram(name, code, arguments))
    parsed = json.loads(text)
    rows = [parsed["nodes"][number] for number in parsed["arguments"]]
    name = parsed["name"]
    listed = [(dtype, size) for _, dtype, _, _, size in rows]
    return Kernel(name, listed, lambda: InterpreterProgram(name, text))


class _NativeProgram:
    """A native function that takes the bytes of its buffers as they are."""

    def __init__(self, name: str, code: bytes, arguments: list[tuple[str, int | None]]) -> None:
        buffers = [i for i, (_, size) in enumerate(arguments) if size is not None]
        variables = [
            UOp.variable(f"v{i}", 0, 0, slot=i) for i in range(len(buffers), len(arguments))
        ]
        info = ProgramInfo(name, params=tuple(buffers), variables=tuple(variables))
        self._program = Device[HOST].load_program(name, code, info)

    def __call__(
        self,
        buffers: Sequence[Any],
        values: tuple[int, ...],
        global_size: tuple[int, ...],
        local_size: tuple[int, ...],
    ) -> None:
        shown = [_shown(cells) for cells in buffers]
        self._program([buffer.opaque for buffer in shown], values, global_size, local_size)


def _shown(cells: Any) -> Buffer:
    """Return bytes of this process as a buffer of the host's device."""
    options = BufferOptions(external=int(cells.ctypes.data))
    return Buffer(HOST, cells.nbytes, dtypes.uint8, options=options).allocate()


@dataclass(frozen=True, kw_only=True, init=False)
class NativeRenderer(Renderer):
    """Renders and compiles as the host's device does, and notes the arguments beside.

    Args:
        arch: of the host; empty for its own.
    """

    language: ClassVar[str] = "native"

    def __init__(self, arch: str = "") -> None:
        inner = Device[HOST].renderer
        values = {field.name: getattr(inner, field.name) for field in fields(Renderer)}
        super().__init__(**{**values, "device_type": "REF", "name": "NATIVE"})
        object.__setattr__(self, "_inner", inner)

    @property
    def inner(self) -> Renderer:
        """The renderer of the host's device."""
        found: Renderer = self._inner  # type: ignore[attr-defined]  # set when it was made
        return found

    @property
    def version(self) -> str:
        return self.inner.version

    def render(self, name: str, linear: UOp) -> str:
        params = [node for node in linear.src if node.op is Ops.PARAM]
        params.sort(key=lambda node: (node.shape == (), node.arg.slot))
        arguments = [(p.dtype.name, None if p.shape == () else p.shape[0]) for p in params]
        head = json.dumps({"name": name, "arguments": arguments})
        return f"{head}\n{self.inner.render(name, linear)}"

    def compile(self, source: str) -> bytes:
        head, text = source.split("\n", 1)
        return NATIVE + head.encode() + b"\n" + self.inner.compile(text)
