"""Lazy tensors with autograd, a fusing compiler, and hardware backends that are ordinary packages.

Names are imported on first use: importing the package loads no backend and no compiler.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tg_core.config import Context
    from tg_core.device import Device, GlobalCounters
    from tg_core.dtype import dtypes
    from tg_core.function import function
    from tg_core.jit import TinyJit
    from tg_core.tensor import Tensor
    from tg_core.uop.ops import UOp, Variable

_HOMES = {
    "Context": "tg_core.config",
    "Device": "tg_core.device",
    "GlobalCounters": "tg_core.device",
    "Tensor": "tg_core.tensor",
    "TinyJit": "tg_core.jit",
    "UOp": "tg_core.uop.ops",
    "Variable": "tg_core.uop.ops",
    "dtypes": "tg_core.dtype",
    "function": "tg_core.function",
}

__all__ = [
    "Context",
    "Device",
    "GlobalCounters",
    "Tensor",
    "TinyJit",
    "UOp",
    "Variable",
    "dtypes",
    "function",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tg_core' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps a module from hiding the name that it exports: `function` is both."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if os.environ.get("VIZ", "0") not in ("", "0"):
    import_module("tg_core.viz.at_exit").write_at_exit()


def __dir__() -> list[str]:
    return sorted((*globals(), *_HOMES))
