"""The markers of hooks, and the version of the hook specification."""

from __future__ import annotations

import pluggy

__all__ = ["ENTRY_POINT_GROUP", "HOOK_VERSION", "PROJECT", "hookimpl", "hookspec"]

PROJECT = "tg"
"""The name of the project in pluggy."""

ENTRY_POINT_GROUP = "tg_core"
"""The group in which a distribution names its plugin modules."""

HOOK_VERSION = (1, 0)
"""Version of the hook specification and of `tg_core.backend`: (major, minor).

A plugin module declares the version it was written for as `TG_HOOK_VERSION`. The same major and
any older minor are accepted: within a major, names and arguments are only ever added.
"""

hookspec = pluggy.HookspecMarker(PROJECT)
"""Marks a function of `hookspecs.py` as a hook."""

hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of that name."""
