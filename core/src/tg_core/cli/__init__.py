"""The `tg` command."""

from tg_core.cli.main import main

__all__ = ["main"]
