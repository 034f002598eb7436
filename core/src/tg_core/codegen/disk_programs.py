"""Compiled programs on disk: what one process compiled, the next ones load.

The key is everything the code depends on: the kernel in normal form, the renderer with its target
and versions, the context variables marked `codegen`, and the installed sources of the compiler and
of the renderer's package. So nothing has to be cleared after an upgrade or an edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_core.errors import FileFormatError
from tg_core.support.disk_cache import DiskCache
from tg_core.support.source_digest import source_digest
from tg_core.uop.ops import Ops, UOp
from tg_core.uop.serialize import dump_uop, load_uop

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

__all__ = ["load_compiled", "store_compiled"]

SOURCES = ("tg_core.uop", "tg_core.codegen", "tg_core.renderer", "tg_core.dtype")
"""The modules whose code decides what a kernel is compiled to."""

_cache = DiskCache("programs")


def load_compiled(normal: UOp, renderer: Renderer, state: object) -> UOp | None:
    """Return `PROGRAM(SINK, NOOP, SOURCE, BINARY)` of a kernel in normal form, or None where it was
    never compiled.

    Args:
        normal: the kernel.
        renderer: the target.
        state: the context variables that generated code depends on.
    """
    entry = _cache.get(_key(normal, renderer, state))
    if entry is None:
        return None
    try:
        kept = load_uop(entry)
    except FileFormatError:
        # An entry from another version of our classes is a miss, as a damaged one is.
        return None
    if kept.op is not Ops.PROGRAM or len(kept.src) != 2:
        return None
    return UOp(Ops.PROGRAM, (normal, UOp(Ops.NOOP), *kept.src), kept.arg)


def store_compiled(normal: UOp, renderer: Renderer, state: object, program: UOp) -> None:
    """Keep a compiled PROGRAM for other processes: source, binary and launch, not the linear
    program.
    """
    kept = UOp(Ops.PROGRAM, program.src[2:], program.arg)
    _cache.put(_key(normal, renderer, state), dump_uop(kept))


def _key(normal: UOp, renderer: Renderer, state: object) -> bytes:
    package = type(renderer).__module__.partition(".")[0]
    modules = SOURCES if package == "tg_core" else (*SOURCES, package)
    parts = (renderer.key, repr(state), source_digest(*modules))
    return normal.key + "\0".join(parts).encode()
