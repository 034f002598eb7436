"""Everything registered, merged: what core asks about device types."""

from __future__ import annotations

from collections.abc import Sequence

from tg_core.plugins.capability import Capability
from tg_core.plugins.known import pip_hint
from tg_core.plugins.records import (
    AllocatorRecord,
    CapabilityRecord,
    CommandRecord,
    DeviceTypeRecord,
    ExtensionRecord,
    InterfaceRecord,
    LoadedPlugin,
    PluginSource,
    QueueRecord,
    Record,
    RendererRecord,
)

__all__ = ["Catalog", "resolve"]


class Catalog:
    """The committed registrations of plugins that do not clash.

    Args:
        plugins: the plugins, in any order; what the catalog answers does not depend on it.
    """

    def __init__(self, plugins: Sequence[LoadedPlugin]) -> None:
        self.plugins = tuple(sorted(plugins, key=_rank))
        self._types: dict[str, tuple[DeviceTypeRecord, LoadedPlugin]] = {}
        for plugin in self.plugins:
            for record in plugin.records:
                if isinstance(record, DeviceTypeRecord):
                    self._types[record.name] = (record, plugin)

    def types(self) -> tuple[DeviceTypeRecord, ...]:
        """Return the device types, highest priority first, then by name."""
        records = [record for record, _ in self._types.values()]
        return tuple(sorted(records, key=_by_priority))

    def type(self, name: str) -> DeviceTypeRecord | None:
        """Return a device type, or None."""
        entry = self._types.get(name)
        return entry[0] if entry is not None else None

    def owner(self, name: str) -> LoadedPlugin:
        """Return the plugin that registered a device type.

        Raises:
            KeyError: nobody did.
        """
        return self._types[name][1]

    def extensions(self, name: str) -> tuple[LoadedPlugin, ...]:
        """Return the plugins that extend a device type, by the name of their distribution."""
        return tuple(plugin for plugin in self.plugins if name in plugin.extended())

    def hook_order(self, name: str) -> tuple[LoadedPlugin, ...]:
        """Return whom the device hooks of a type ask, in order: extensions, then the owner."""
        return (*self.extensions(name), self.owner(name))

    def interfaces(self, name: str) -> tuple[InterfaceRecord, ...]:
        """Return the interfaces of a type: the owner's in order, then those of extensions."""
        return tuple(
            record
            for record in self._parts(name)
            if isinstance(record, InterfaceRecord) and record.device_type == name
        )

    def renderers(self, name: str) -> tuple[RendererRecord, ...]:
        """Return the renderers of a type; the first is the default."""
        return tuple(
            record
            for record in self._parts(name)
            if isinstance(record, RendererRecord) and record.device_type == name
        )

    def allocator(self, name: str) -> AllocatorRecord | None:
        """Return the allocator of a type, or None."""
        for record in self._parts(name):
            if isinstance(record, AllocatorRecord) and record.device_type == name:
                return record
        return None

    def queues(self, name: str) -> tuple[QueueRecord, ...]:
        """Return the queue encoders of a type."""
        return tuple(
            record
            for record in self._parts(name)
            if isinstance(record, QueueRecord) and record.device_type == name
        )

    def capabilities(self, name: str) -> frozenset[Capability]:
        """Return what a type declares it can do."""
        return frozenset(
            record.capability
            for record in self._parts(name)
            if isinstance(record, CapabilityRecord) and record.device_type == name
        )

    def commands(self) -> dict[str, tuple[CommandRecord, PluginSource]]:
        """Return the subcommands of `tg` that plugins bring, by name."""
        return {
            record.name: (record, plugin.source)
            for plugin in self.plugins
            for record in plugin.records
            if isinstance(record, CommandRecord)
        }

    def _parts(self, name: str) -> list[Record]:
        """Return the records of the owner of a type, then of its extensions."""
        if name not in self._types:
            return []
        plugins = (self.owner(name), *self.extensions(name))
        return [record for plugin in plugins for record in plugin.records]


def resolve(plugins: Sequence[LoadedPlugin]) -> tuple[Catalog, dict[PluginSource, str]]:
    """Commit the plugins that fit together, each as a whole or not at all.

    Of two plugins that register the same thing, core's own is kept; where both are from outside,
    neither is, because picking one by its name would let a package take over another's devices.
    Dropping a plugin may leave others without the type they extend, so this repeats until nothing
    changes.

    Returns:
        The catalog, and for each plugin left out the reason.
    """
    kept = sorted(plugins, key=_rank)
    rejected: dict[PluginSource, str] = {}
    while True:
        faults = _clashes(kept) or _orphans(kept)
        if not faults:
            return Catalog(kept), rejected
        rejected.update(faults)
        kept = [plugin for plugin in kept if plugin.source not in faults]


def _clashes(plugins: Sequence[LoadedPlugin]) -> dict[PluginSource, str]:
    """Return the plugins that register what another one registers too, with the reason."""
    claims: dict[tuple[str, ...], list[PluginSource]] = {}
    for plugin in plugins:
        for record in plugin.records:
            key = _claim(record)
            if key is not None:
                claims.setdefault(key, []).append(plugin.source)
    faults: dict[PluginSource, str] = {}
    for key, sources in claims.items():
        if len(sources) < 2:
            continue
        packages = " and ".join(str(source) for source in sources)
        for source in sources:
            if not source.builtin:
                faults.setdefault(
                    source,
                    f"{' '.join(key)} is registered by both {packages}; "
                    f"choose one with TG_BLOCK_PLUGINS={source.distribution}, "
                    "or uninstall the other",
                )
    return faults


def _orphans(plugins: Sequence[LoadedPlugin]) -> dict[PluginSource, str]:
    """Return the plugins that add to a type they may not, or that is missing, with the reason."""
    owned = {
        record.name
        for plugin in plugins
        for record in plugin.records
        if isinstance(record, DeviceTypeRecord)
    }
    faults: dict[PluginSource, str] = {}
    for plugin in plugins:
        for record in plugin.records:
            reason = _orphan_reason(record, plugin, owned)
            if reason is not None:
                faults[plugin.source] = reason
                break
    return faults


def _orphan_reason(record: Record, plugin: LoadedPlugin, owned: set[str]) -> str | None:
    if isinstance(record, DeviceTypeRecord | CommandRecord):
        return None
    name = record.device_type
    if isinstance(record, ExtensionRecord):
        if name in owned:
            return None
        hint = pip_hint(name)
        tail = f" ({hint})" if hint else ""
        return f"extends device type {name}, which no plugin in use registers{tail}"
    if name in plugin.types():
        return None
    kind = type(record).__name__.removesuffix("Record").lower()
    return f"registers a part ({kind}) of device type {name}, which it neither owns nor extends"


def _claim(record: Record) -> tuple[str, ...] | None:
    """Return what must be unique about a record, in words."""
    if isinstance(record, DeviceTypeRecord):
        return ("device type", record.name)
    if isinstance(record, InterfaceRecord):
        return ("interface", f"{record.name}+{record.device_type}")
    if isinstance(record, AllocatorRecord):
        return ("the allocator of", record.device_type)
    if isinstance(record, QueueRecord):
        return ("queue", f"{record.kind} of {record.device_type}")
    if isinstance(record, RendererRecord):
        return ("renderer", f"{record.device_type}:{record.name}")
    if isinstance(record, CommandRecord):
        return ("command", record.name)
    return None


def _rank(plugin: LoadedPlugin) -> tuple[bool, PluginSource]:
    return (not plugin.source.builtin, plugin.source)


def _by_priority(record: DeviceTypeRecord) -> tuple[int, str]:
    return (-record.priority, record.name)
