"""What plugins register, as plain records, and who a plugin is."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from tg_core.plugins.capability import Capability
from tg_core.plugins.needs import Need
from tg_core.plugins.reference import Reference
from tg_core.support.frozen import frozen, frozen_identity

__all__ = [
    "AllocatorRecord",
    "CapabilityRecord",
    "CommandRecord",
    "DeviceTypeRecord",
    "ExtensionRecord",
    "InterfaceRecord",
    "LoadedPlugin",
    "PluginFailure",
    "PluginSource",
    "QueueRecord",
    "Record",
    "RendererRecord",
]


class PluginSource(NamedTuple):
    """Where a plugin comes from."""

    distribution: str
    """The installed distribution, as pip names it."""
    name: str
    """The name of the entry point."""
    module: str
    """The module the entry point names."""
    version: str = ""
    """The version of the distribution."""
    builtin: bool = False
    """Whether it is core's own."""

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}".strip()


@frozen
class DeviceTypeRecord:
    """A device type."""

    name: str
    opener: Reference
    priority: int
    description: str
    needs: tuple[Need, ...]


@frozen
class ExtensionRecord:
    """A promise to add to a device type that another plugin registers."""

    device_type: str
    reason: str


@frozen
class InterfaceRecord:
    """A way to reach the devices of a type."""

    device_type: str
    name: str
    cls: Reference
    emulated: bool


@frozen
class AllocatorRecord:
    """The allocator of a device type."""

    device_type: str
    cls: Reference


@frozen
class QueueRecord:
    """The encoder of one kind of queue of a device type."""

    device_type: str
    kind: str
    cls: Reference


@frozen
class RendererRecord:
    """A renderer of a device type."""

    device_type: str
    name: str
    cls: Reference


@frozen
class CapabilityRecord:
    """One capability of a device type."""

    device_type: str
    capability: Capability


@frozen
class CommandRecord:
    """A subcommand of `tg`."""

    name: str
    app: Reference


Record = (
    DeviceTypeRecord
    | ExtensionRecord
    | InterfaceRecord
    | AllocatorRecord
    | QueueRecord
    | RendererRecord
    | CapabilityRecord
    | CommandRecord
)


@frozen_identity
class LoadedPlugin:
    """A plugin whose registration ran to its end."""

    source: PluginSource
    module: ModuleType
    records: tuple[Record, ...]

    def __repr__(self) -> str:
        return f"LoadedPlugin(source={self.source!r}, module={self.module!r})"

    def types(self) -> set[str]:
        """Return the device types it registers or extends."""
        owned = {record.name for record in self.records if isinstance(record, DeviceTypeRecord)}
        return owned | self.extended()

    def extended(self) -> set[str]:
        """Return the device types it extends."""
        return {
            record.device_type for record in self.records if isinstance(record, ExtensionRecord)
        }


@frozen
class PluginFailure:
    """A plugin that is not in use, and why."""

    source: PluginSource
    reason: str
    blocked: bool = False
    """Whether the user asked for it to be left out."""
