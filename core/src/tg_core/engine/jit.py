"""The import path `tg_core.engine.jit` of the specification."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    # loaded lazily: the JIT stands above the engine and imports it
    if name == "TinyJit":
        from tg_core.jit import TinyJit

        return TinyJit
    raise AttributeError(f"module 'tg_core.engine.jit' has no attribute {name!r}")
