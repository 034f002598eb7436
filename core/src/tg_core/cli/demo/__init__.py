"""`tg demo`: small programs that train on real data, with a report a person can look at."""

from __future__ import annotations

from tg_core.cli.demo.command import add_demo_command

__all__ = ["add_demo_command"]
