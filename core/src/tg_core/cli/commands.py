"""The table of core's own subcommands.

A subcommand is a function that takes the subparsers of `tg`, adds its own, and sets `handler` to a
function from the parsed arguments to the exit code. What the handler needs is imported inside it,
so that `tg --help` stays quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["COMMANDS", "Command"]


@dataclass(frozen=True)
class Command:
    """A subcommand by name and by where the function that adds it is."""

    name: str
    module: str
    function: str

    def load(self) -> Callable[[Any], None]:
        """Return the function that adds the subcommand."""
        function: Callable[[Any], None] = getattr(
            importlib.import_module(self.module), self.function
        )
        return function


COMMANDS = (
    Command("devices", "tg_core.cli.devices", "add_devices_command"),
    Command("env", "tg_core.cli.env", "add_env_command"),
    Command("cache", "tg_core.cli.cache", "add_cache_command"),
    Command("explain", "tg_core.cli.explain", "add_explain_command"),
    Command("demo", "tg_core.cli.demo", "add_demo_command"),
    Command("new-backend", "tg_core.cli.new_backend", "add_new_backend_command"),
)
"""In the order in which `tg --help` lists them."""
