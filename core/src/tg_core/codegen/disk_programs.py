"""Compiled programs on disk: what one process compiled, the next ones load.

The key is everything the code depends on: the kernel in normal form, the renderer with its target
and versions, the context variables marked `codegen`, and the installed sources of the compiler and
of the renderer's package. So nothing has to be cleared after an upgrade or an edit.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from tg_core.support.disk_cache import DiskCache
from tg_core.support.source_digest import digest_of_modules
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

__all__ = ["load_compiled", "store_compiled"]

SOURCES = ("tg_core.uop", "tg_core.codegen", "tg_core.renderer", "tg_core.dtype")
"""The modules whose code decides what a kernel is compiled to."""

_cache = DiskCache("programs")


def load_compiled(normal: UOp, renderer: Renderer, state: object) -> UOp | None:
    """Return the PROGRAM of a kernel in normal form, or None where it was never compiled.

    Args:
        normal: the kernel.
        renderer: the target.
        state: the context variables that generated code depends on.
    """
    entry = _cache.get(_key(normal, renderer, state))
    if entry is None:
        return None
    try:
        found = _Reader(io.BytesIO(entry)).load()
    # An entry from another version of Python or of our classes is a miss, as a damaged one is.
    except (pickle.UnpicklingError, AttributeError, ImportError, TypeError, ValueError, EOFError):
        return None
    return found if isinstance(found, UOp) and found.op is Ops.PROGRAM else None


def store_compiled(normal: UOp, renderer: Renderer, state: object, program: UOp) -> None:
    """Keep a compiled PROGRAM for other processes."""
    _cache.put(_key(normal, renderer, state), pickle.dumps(program, protocol=5))


def _key(normal: UOp, renderer: Renderer, state: object) -> bytes:
    package = type(renderer).__module__.partition(".")[0]
    modules = SOURCES if package == "tg_core" else (*SOURCES, package)
    parts = (renderer.key, repr(state), digest_of_modules(*modules))
    return normal.key + "\0".join(parts).encode()


class _Reader(pickle.Unpickler):
    """Reads our own classes and nothing else: an entry is data, whoever wrote it."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "tg_core":
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a program")
        return super().find_class(module, name)
