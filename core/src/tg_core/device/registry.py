"""The registry of devices: names in, opened devices out, with reasons for what is missing."""

from __future__ import annotations

import atexit
import sys
import threading
import warnings
import weakref
from typing import TYPE_CHECKING

from tg_core.config import DEV
from tg_core.device.api import Compiled
from tg_core.device.opening import OpenDevices, open_device
from tg_core.device.target import canonical_name, parse_targets, split_name
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.plugins.capability import Capability
from tg_core.plugins.known import pip_hint

if TYPE_CHECKING:
    from tg_core.plugins.catalog import Catalog
    from tg_core.plugins.manager import PluginManager

__all__ = ["Device", "DeviceRegistry"]

INTERPRETER = "PYTHON"


class DeviceRegistry:
    """Opens devices by name and keeps them open.

    Plugins are loaded at the first look-up, never before.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._opened: OpenDevices = {}
        self._by_name: dict[tuple[str, str], Compiled] = {}
        # A file is a device; one that no buffer needs any more is closed.
        self._located: OpenDevices = weakref.WeakValueDictionary()
        self._defaults: dict[str, str] = {}

    @property
    def DEFAULT(self) -> str:
        """The device that tensors are made on: the first of `DEV`, else the best usable one.

        Raises:
            DeviceNotFound: nothing is usable; the message says why each candidate is not.
        """
        wanted = DEV.value
        name = self._defaults.get(wanted)
        if name is None:
            with self._lock:
                targets = parse_targets(wanted)
                name = self._require(targets[0].type) if targets else self._best()
                self._defaults[wanted] = name
        return name

    def canonicalize(self, name: str | None) -> str:
        """Return the one spelling of a device name (`amd:0` is `AMD`); None is the default device.

        Does not ask whether the device exists: see `require`.

        Raises:
            DeviceNotFound: the name is malformed.
        """
        return self.DEFAULT if name is None else canonical_name(name)

    def require(self, name: str | None) -> str:
        """Return the one spelling of the name of a device whose type is installed.

        Raises:
            DeviceNotFound: malformed, or no plugin in use registers the type.
        """
        if name is None:
            return self.DEFAULT
        if not isinstance(name, str):
            raise DeviceNotFound(f"device: expected a name, found {name!r}")
        canonical = canonical_name(name)
        if (DEV.value, canonical) not in self._by_name:
            device_type, _, location = split_name(canonical)
            self._require(device_type)
            self._check_location(device_type, location)
        return canonical

    def __getitem__(self, name: str) -> Compiled:
        """Return an opened device, opening it on first use.

        Raises:
            DeviceNotFound: no such device, with what exists and why each candidate was passed over.
            DeviceError: the device is there and cannot be opened.
        """
        key = (DEV.value, name)
        device = self._by_name.get(key)
        if device is None:
            with self._lock:
                device = self._open(canonical_name(name))
                if not device.location:
                    self._by_name[key] = device
        return device

    def get_available_devices(self) -> list[str]:
        """Return the types whose first device can be opened, best first. Opens each of them."""
        available = []
        for record in self._catalog().types():
            try:
                if Capability.PERSISTENT not in self._catalog().capabilities(record.name):
                    _ = self[record.name]
            except DeviceError:
                continue
            available.append(record.name)
        return available

    def is_open(self, name: str) -> bool:
        """Tell whether a device has been opened."""
        canonical = canonical_name(name)
        return any(key[0] == canonical for key in self._opened)

    def opened(self) -> list[Compiled]:
        """Return the opened devices, in the order they were opened."""
        return list(self._opened.values())

    def finalize(self) -> None:
        """Close every opened device; a failure of one is printed and does not stop the others."""
        devices = list(self._opened.values())
        self._opened.clear()
        self._located.clear()
        self._by_name.clear()
        self._defaults.clear()
        for device in reversed(devices):
            try:
                device.synchronize()
                device.finalize()
            except Exception as error:
                print(f"{device.name}: {type(error).__name__}: {error}", file=sys.stderr)

    def _manager(self) -> PluginManager:
        # pluggy and the plugins are loaded here, at the first look-up of a device.
        from tg_core.plugins.manager import plugins

        return plugins()

    def _catalog(self) -> Catalog:
        return self._manager().catalog

    def _best(self) -> str:
        """Return the type of highest priority that opens."""
        reasons = []
        for record in self._catalog().types():
            if record.priority < 0:
                continue
            try:
                _ = self[record.name]
            except DeviceError as error:
                reasons.append(f"  {error}")
                continue
            if record.name == INTERPRETER:
                _warn_of_interpreter(reasons + self._failures())
            return record.name
        raise DeviceNotFound(
            "no usable device; install one, for example: pip install tg-cpu\n"
            + "\n".join(reasons + self._failures())
        )

    def _require(self, device_type: str) -> str:
        if self._catalog().type(device_type) is None:
            raise DeviceNotFound(self._unknown(device_type))
        return device_type

    def _check_location(self, device_type: str, location: str) -> None:
        persistent = Capability.PERSISTENT in self._catalog().capabilities(device_type)
        if location and not persistent:
            raise DeviceNotFound(
                f"device {device_type}:{location}: index {location!r}, expected a number"
            )

    def _unknown(self, device_type: str) -> str:
        names = [record.name for record in self._catalog().types()]
        lines = [f"no device type {device_type}; installed: {', '.join(names)}"]
        import difflib

        close = difflib.get_close_matches(device_type, names, n=1)
        hint = pip_hint(device_type)
        if hint is not None and not self._failed_owner(hint):
            lines[0] += f"; to add it: {hint}"
        elif close:
            lines[0] += f"; did you mean {close[0]}?"
        return "\n".join(lines + self._failures())

    def _failed_owner(self, hint: str) -> bool:
        """Tell whether the package a hint names is installed and failed."""
        package = hint.rpartition(" ")[2]
        failures = self._manager().failures
        return any(failure.source.distribution == package for failure in failures)

    def _failures(self) -> list[str]:
        return [
            f"  plugin {failure.source} is not in use: {failure.reason}"
            for failure in self._manager().failures
        ]

    def _open(self, name: str) -> Compiled:
        device_type, _, location = split_name(name)
        self._require(device_type)
        self._check_location(device_type, location)
        opened = self._located if location else self._opened
        return open_device(self._catalog(), opened, name)


def _warn_of_interpreter(reasons: list[str]) -> None:
    why = "".join(f"\n{reason}" for reason in reasons)
    warnings.warn(
        "no compiled device can be used: running on the interpreter PYTHON, which is slow "
        f"(pip install tg-cpu){why}",
        stacklevel=4,
    )


Device = DeviceRegistry()
"""The devices of this process."""

atexit.register(Device.finalize)
