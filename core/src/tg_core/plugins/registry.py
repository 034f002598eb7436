"""The typed door a plugin registers through."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tg_core.errors import PluginError
from tg_core.plugins.capability import Capability
from tg_core.plugins.needs import Need, NeedsModule, NeedsPath, NeedsSystem
from tg_core.plugins.records import (
    AllocatorRecord,
    CapabilityRecord,
    CommandRecord,
    DeviceTypeRecord,
    ExtensionRecord,
    InterfaceRecord,
    QueueRecord,
    Record,
    RendererRecord,
)
from tg_core.plugins.reference import Reference

__all__ = ["Registry"]

_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_COMMAND = re.compile(r"[a-z][a-z0-9-]*")


class Registry:
    """What `tg_register` is given. Each method checks its arguments at once.

    A registry belongs to one plugin and only collects. Core commits the whole collection, or none
    of it, once the hook has returned; clashes with other plugins and references to device types of
    others are checked then. Names of types, interfaces, queue kinds and renderers are upper case
    and are matched without regard to case when a user writes them.

    Every method raises `PluginError` for a malformed argument, and for a second registration of the
    same thing.
    """

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._taken: set[tuple[str, ...]] = set()
        self._closed = False

    def device_type(
        self,
        name: str,
        opener: str,
        priority: int = 0,
        description: str = "",
        needs: Sequence[Need] = (),
    ) -> None:
        """Register a device type that this plugin owns.

        Args:
            name: the type, the part of a device name before the colon.
            opener: reference to a callable that takes an `OpenRequest` and returns a `Compiled`.
            priority: the usable type of highest priority is the default device. A negative one is
                never the default.
            description: one line for `tg devices`.
            needs: what the machine must have; checked without importing anything.
        """
        where = f"registry.device_type({name!r})"
        self._claim(where, "type", _checked(where, name))
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise PluginError(f"{where}: priority is {priority!r}, expected an integer")
        for need in needs:
            if not isinstance(need, NeedsModule | NeedsPath | NeedsSystem):
                raise PluginError(f"{where}: need {need!r}, expected a Needs... object")
        record = DeviceTypeRecord(
            name, _reference(where, opener), priority, description, tuple(needs)
        )
        self._records.append(record)

    def extend_device_type(self, name: str, reason: str) -> None:
        """Announce that this plugin adds to a device type of another plugin.

        Only owners and announced extensions may register parts of a type, and only they are asked
        by the device hooks.

        Args:
            name: the device type.
            reason: what is added, one line for `tg devices`.
        """
        where = f"registry.extend_device_type({name!r})"
        self._claim(where, "extension", _checked(where, name))
        self._records.append(ExtensionRecord(name, reason))

    def interface(self, device_type: str, name: str, cls: str, emulated: bool = False) -> None:
        """Register a way to reach the devices of a type.

        Real interfaces are tried in order, the owner's before those of extensions, until one opens.
        An emulated interface is used only when `DEV` names it.

        Args:
            device_type: the type.
            name: the name in `DEV=NAME+TYPE`.
            cls: reference to a class; constructed with the physical index of the device, and
                raising an exception with the reason when it cannot reach it.
            emulated: whether no hardware is behind it.
        """
        where = f"registry.interface({device_type!r}, {name!r})"
        self._claim(where, "interface", _checked(where, device_type), _checked(where, name))
        record = InterfaceRecord(device_type, name, _reference(where, cls), bool(emulated))
        self._records.append(record)

    def allocator(self, device_type: str, cls: str) -> None:
        """Register the allocator of a type: a subclass of `Allocator`, constructed per device."""
        where = f"registry.allocator({device_type!r})"
        self._claim(where, "allocator", _checked(where, device_type))
        self._records.append(AllocatorRecord(device_type, _reference(where, cls)))

    def queue(self, device_type: str, kind: str, cls: str) -> None:
        """Register the encoder (an `HWQueue`) of one kind of queue, such as COMPUTE or COPY."""
        where = f"registry.queue({device_type!r}, {kind!r})"
        self._claim(where, "queue", _checked(where, device_type), _checked(where, kind))
        self._records.append(QueueRecord(device_type, kind, _reference(where, cls)))

    def renderer(self, device_type: str, name: str, cls: str) -> None:
        """Register a renderer of a type. The owner's first one is the default.

        Args:
            device_type: the type.
            name: the name in `DEV=TYPE:NAME`.
            cls: reference to a `Renderer` class, constructed with the architecture as a string, the
                empty string meaning the machine's own.
        """
        where = f"registry.renderer({device_type!r}, {name!r})"
        self._claim(where, "renderer", _checked(where, device_type), _checked(where, name))
        self._records.append(RendererRecord(device_type, name, _reference(where, cls)))

    def capability(self, device_type: str, *capabilities: Capability) -> None:
        """Declare capabilities of a type."""
        where = f"registry.capability({device_type!r})"
        _checked(where, device_type)
        for capability in capabilities:
            if not isinstance(capability, Capability):
                raise PluginError(f"{where}: {capability!r} is not a Capability")
            self._claim(where, "capability", device_type, capability.name)
            self._records.append(CapabilityRecord(device_type, capability))

    def command(self, name: str, app: str) -> None:
        """Register a subcommand of `tg`.

        Args:
            name: lower-case words joined by hyphens.
            app: reference to a callable that takes the list of arguments after the name and returns
                the exit code.
        """
        where = f"registry.command({name!r})"
        if _COMMAND.fullmatch(str(name)) is None:
            raise PluginError(f"{where}: expected lower-case words joined by hyphens")
        self._claim(where, "command", name)
        self._records.append(CommandRecord(name, _reference(where, app)))

    def close(self) -> tuple[Record, ...]:
        """End registration and return what was collected, in order."""
        self._closed = True
        return tuple(self._records)

    def _claim(self, where: str, *key: str) -> None:
        if self._closed:
            raise PluginError(f"{where}: registration has ended")
        if key in self._taken:
            raise PluginError(f"{where}: registered twice by the same plugin")
        self._taken.add(key)


def _checked(where: str, name: object) -> str:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise PluginError(
            f"{where}: name {name!r}, expected an upper-case letter, then letters, digits or _"
        )
    return name


def _reference(where: str, text: str) -> Reference:
    try:
        return Reference(text)
    except PluginError as error:
        raise PluginError(f"{where}: {error}") from None
