"""Loading object code by the cheapest loader that can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_cpu.object_loader import LoadedObject, UnsupportedObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_cpu.jit import Library


def load_object(binary: bytes, symbols: Sequence[str]) -> Library | LoadedObject:
    """Return loaded code with the `addresses` of its functions; it must outlive every use of them.

    Args:
        binary: an object file.
        symbols: functions whose addresses are wanted.

    Raises:
        CompileError: the bytes are no object file for this host, or a symbol is missing.
    """
    try:
        return LoadedObject(binary, symbols)
    except UnsupportedObject:
        # the compiler is imported only here
        from tg_cpu import jit

        return jit.linker().link(binary, symbols)
