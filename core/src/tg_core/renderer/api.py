"""What every renderer is: a target, and the way from a linear program to its binary."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tg_core.support.frozen import frozen
from tg_core.uop.ops import Ops

if TYPE_CHECKING:
    from tg_core.dtype import DType
    from tg_core.uop.ops import UOp


@frozen
class Target:
    """The machine code is for."""

    arch: str
    """Architecture or processor, as the backend names it (`x86_64-znver3`, `gfx1100`)."""
    features: tuple[str, ...] = ()
    """Optional instructions it has, sorted."""


@dataclass(frozen=True, kw_only=True)
class Renderer(ABC):
    """Base of all renderers: immutable, compared by value.

    Codegen reads the fields to decide what a kernel may contain, and calls `render`, then
    `compile`.

    | field | what codegen does with it |
    |---|---|
    | `vector_bytes` | width of VECTOR axes; 0: none are made |
    | `registers` | how many vectors of accumulators and operands a tile may keep |
    | `has_global`, `global_max` | output ranges become `SPECIAL` `gidx0..2` |
    | `has_local`, `local_max`, `shared_bytes` | work items form groups: `lidx0..2`, LOCAL |
    | `has_threads` | one output range may become the chunk index `gidx0` |
    | `shared_bytes` with `has_threads` | LOCAL is scratch of one thread, for packed operands |
    | `native_ops` | other ops are decomposed |
    | `native_dtypes` | arithmetic in other dtypes is done in float32, rounded after each op |
    | `storage_dtypes` | other dtypes are loaded and stored as integers of their size |
    | `has_masked_access` | a vector access keeps a gate of lanes; else it is split into lanes |
    | `index_bits` | least width of the integers that one index is computed in: 32 or 64 |
    | `max_buffers` | kernels with more are split by the scheduler |
    """

    language: ClassVar[str]
    """Name of the source language, for people and caches."""

    device_type: str
    """The device type the code runs on."""
    name: str
    """The renderer's name in `DEV=TYPE:NAME`."""
    target: Target
    vector_bytes: int = 0
    registers: int = 16
    has_global: bool = False
    has_local: bool = False
    has_threads: bool = False
    global_max: tuple[int, int, int] = (0x7FFFFFFF, 0xFFFF, 0xFFFF)
    local_max: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    native_ops: frozenset[Ops] = frozenset()
    native_dtypes: frozenset[DType] = frozenset()
    storage_dtypes: frozenset[DType] = frozenset()
    has_masked_access: bool = False
    index_bits: int = 32
    max_buffers: int = 1 << 16

    @property
    @abstractmethod
    def version(self) -> str:
        """Versions of the renderer and its compiler: with `key`, what the binary depends on."""

    @cached_property
    def key(self) -> str:
        """A text that is equal for two renderers, in any process, when they generate equal code."""
        parts = [type(self).__qualname__, self.language, self.version]
        for field in fields(self):
            parts.append(f"{field.name}={_stable(getattr(self, field.name))}")
        return "|".join(parts)

    @abstractmethod
    def render(self, name: str, linear: UOp) -> str:
        """Return the source of a linear program.

        Args:
            name: name of the function, an identifier.
            linear: LINEAR that satisfies `spec_program`.

        Raises:
            CompileError: the program contains what this renderer has not declared.
        """

    @abstractmethod
    def compile(self, source: str) -> bytes:
        """Return the binary of a source, as the device's `load_program` takes it.

        Raises:
            CompileError: the target's compiler refused the source.
        """


def _stable(value: object) -> str:
    """Return a representation that does not depend on the order of a set."""
    if isinstance(value, frozenset):
        return ",".join(sorted(str(item) for item in value))
    return repr(value)


ARITHMETIC_OPS: frozenset[Ops] = frozenset(
    (Ops.SQRT, Ops.RECIPROCAL, Ops.TRUNC, Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.CDIV, Ops.CMOD,
     Ops.MAX, Ops.CMPLT, Ops.CMPNE, Ops.CMPEQ, Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR,
     Ops.WHERE)
)  # fmt: skip
"""The ops that any target has in hardware or in a few instructions."""
