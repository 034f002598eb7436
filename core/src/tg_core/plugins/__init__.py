"""Plugins: hook specifications, what they register, and the manager that loads them.

Importing this package loads no plugin, nor pluggy; `plugins()` does, on the first look-up of a
device.
"""

from typing import TYPE_CHECKING

from tg_core.plugins.capability import Capability
from tg_core.plugins.known import pip_hint
from tg_core.plugins.needs import Need, NeedsModule, NeedsPath, NeedsSystem
from tg_core.plugins.records import PluginFailure, PluginSource
from tg_core.plugins.reference import Reference
from tg_core.plugins.registry import Registry
from tg_core.support.lazy import lazy_names

if TYPE_CHECKING:
    from tg_core.plugins.queues import QueueDescription

__getattr__, __dir__ = lazy_names(__name__, {"QueueDescription": "tg_core.plugins.queues"})

__all__ = [
    "Capability",
    "Need",
    "NeedsModule",
    "NeedsPath",
    "NeedsSystem",
    "PluginFailure",
    "PluginSource",
    "QueueDescription",
    "Reference",
    "Registry",
    "pip_hint",
]
