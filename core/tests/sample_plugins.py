"""Plugins made of a few lines, for tests of the machinery around them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tg_core.device import Device
from tg_core.plugins.manager import PluginManager, forget_plugins
from tg_core.plugins.markers import HOOK_VERSION, hookimpl
from tg_core.plugins.records import PluginSource
from tg_core.plugins.registry import Registry

HOST = "tg_core.device.host:HostAllocator"
OPENER = "tg_core.device.python:PythonDevice"
BUILTIN = PluginSource("tg-core", "builtin", "tg_core.device.builtin", "1", builtin=True)

Register = Callable[[Registry], None]


def device_of(name: str, priority: int = 0) -> Register:
    """Return a registration of one device type in host memory."""

    def register(registry: Registry) -> None:
        registry.device_type(name, OPENER, priority=priority, description=f"the {name}")
        registry.allocator(name, HOST)

    return register


def plugin(
    name: str,
    register: Register | None = None,
    version: object = HOOK_VERSION,
    distribution: str | None = None,
    **hooks: Callable[..., Any],
) -> PluginSource:
    """Make a plugin module under `sample_<name>` and return where it comes from."""
    module = types.ModuleType(f"sample_{name}")
    if version is not None:
        module.TG_HOOK_VERSION = version  # type: ignore[attr-defined]  # a module made by hand
    if register is not None:
        # The parameter names of a hook matter, so the function is wrapped under the hook's own.
        chosen = register

        def tg_register(registry: Registry) -> None:
            chosen(registry)

        module.tg_register = hookimpl(tg_register)  # type: ignore[attr-defined]  # as above
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(function))
    sys.modules[module.__name__] = module
    return PluginSource(distribution or f"tg-{name}", name, module.__name__, "2.0")


@contextmanager
def installed(*sources: PluginSource, blocked: str = "") -> Iterator[PluginManager]:
    """Put these plugins, and core's own, in the place of the installed ones."""
    manager = PluginManager([BUILTIN, *sources], blocked=blocked, strict=False)
    forget_plugins(manager)
    Device.finalize()
    try:
        yield manager
    finally:
        Device.finalize()
        forget_plugins()
