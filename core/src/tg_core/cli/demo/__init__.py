"""`tg demo`: small programs that train or run models on real data, and show a person the result."""

from __future__ import annotations

from tg_core.cli.demo.command import add_demo_command

__all__ = ["add_demo_command"]
