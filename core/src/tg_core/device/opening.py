"""Opening a device: needs, interfaces in order, and one error with every reason."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TypeAlias

from tg_core.config import DEV
from tg_core.device.api import Compiled, OpenRequest
from tg_core.device.target import Target, split_name, target_for
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.plugins.catalog import Catalog
from tg_core.plugins.known import pip_hint
from tg_core.plugins.records import DeviceTypeRecord, InterfaceRecord

__all__ = ["OpenDevices", "open_device"]

OpenDevices: TypeAlias = MutableMapping[tuple[str, str | None, int], Compiled]
"""Opened devices by name, interface and physical index."""


def open_device(catalog: Catalog, opened: OpenDevices, name: str) -> Compiled:
    """Open a device the way `DEV` says, or return it if it is open that way already.

    Args:
        catalog: what plugins registered; the type of the device is in it.
        opened: the devices that are open; the new one is added.
        name: the canonical name of the device.

    Raises:
        DeviceNotFound: the machine lacks something, or no interface could reach the device; the
            message has the reason of each.
        DeviceError: the type has no interfaces and its opener failed.
    """
    device_type, index, _ = split_name(name)
    record = catalog.type(device_type)
    assert record is not None
    missing = [reason for need in record.needs if (reason := need.missing()) is not None]
    if missing:
        raise DeviceNotFound(f"{name}: {'; '.join(missing)}")
    target = target_for(DEV.value, device_type) or Target(device_type)
    check_renderer(catalog, target)
    physical = physical_index(name, index, target)
    candidates = interface_candidates(catalog, target)
    if candidates == [None]:
        return _open_with(catalog, opened, record, name, physical, None)
    reasons: list[tuple[str, Exception]] = []
    for interface in candidates:
        try:
            return _open_with(catalog, opened, record, name, physical, interface)
        # What an interface raises is its reason; the reasons are reported together.
        except Exception as error:
            label = interface.name if interface is not None else "directly"
            reasons.append((f"  {label}: {str(error) or type(error).__name__}", error))
    lines = [f"{name}: no interface could open it", *(line for line, _ in reasons)]
    emulated = [each.name for each in catalog.interfaces(device_type) if each.emulated]
    if emulated and target.interface is None:
        lines.append(f"  not tried, emulated: {', '.join(emulated)} (DEV={emulated[0]}+{name})")
    raise DeviceNotFound("\n".join(lines)) from (reasons[-1][1] if reasons else None)


def interface_candidates(catalog: Catalog, target: Target) -> list[InterfaceRecord | None]:
    """Return the interfaces to try, in order; None stands for opening the device directly.

    The one `DEV` names, else the owner's real ones (or directly, where the owner has none at all),
    then the real ones of extensions.

    Raises:
        DeviceNotFound: `DEV` names an interface that is not registered.
    """
    records = catalog.interfaces(target.type)
    if target.interface is not None:
        chosen: list[InterfaceRecord | None] = [
            record for record in records if record.name == target.interface
        ]
        if not chosen:
            raise DeviceNotFound(_unknown_interface(target, records))
        return chosen
    real: list[InterfaceRecord | None] = [record for record in records if not record.emulated]
    owned = [each for each in catalog.owner(target.type).records if each in records]
    return real if owned else [None, *real]


def check_renderer(catalog: Catalog, target: Target) -> None:
    """Check that the renderer `DEV` names is registered.

    Raises:
        DeviceNotFound: it is not; the message lists those that are.
    """
    names = [record.name for record in catalog.renderers(target.type)]
    if target.renderer is not None and target.renderer not in names:
        raise DeviceNotFound(
            f"DEV={DEV.value!r}: no renderer {target.renderer} of {target.type}; "
            f"renderers of {target.type}: {', '.join(names) or 'none'}"
        )


def physical_index(name: str, index: int, target: Target) -> int:
    """Map the index in a device name through the visible indices of `DEV`.

    Raises:
        DeviceNotFound: fewer devices are visible.
    """
    if target.indices is None:
        return index
    if index >= len(target.indices):
        visible = ", ".join(map(str, target.indices))
        raise DeviceNotFound(
            f"{name}: DEV={DEV.value!r} makes {len(target.indices)} devices visible ({visible})"
        )
    return target.indices[index]


def _unknown_interface(target: Target, records: tuple[InterfaceRecord, ...]) -> str:
    names = ", ".join(record.name for record in records) or "none"
    hint = pip_hint(target.type, target.interface)
    # The hint of the type itself is no advice: the type is installed.
    tail = f"; to add it: {hint}" if hint is not None and hint != pip_hint(target.type) else ""
    return (
        f"DEV={DEV.value!r}: no interface {target.interface} of {target.type}; "
        f"interfaces of {target.type}: {names}{tail}"
    )


def _open_with(
    catalog: Catalog,
    opened: OpenDevices,
    record: DeviceTypeRecord,
    name: str,
    physical: int,
    interface: InterfaceRecord | None,
) -> Compiled:
    key = (name, interface.name if interface is not None else None, physical)
    device = opened.get(key)
    if device is None:
        _, index, location = split_name(name)
        request = OpenRequest(
            name=name,
            type=record.name,
            index=index,
            physical_index=physical,
            location=location,
            interface=interface.cls.load()(physical) if interface is not None else None,
            interface_name=interface.name if interface is not None else None,
            catalog=catalog,
        )
        device = opened[key] = _call_opener(record, request)
    return device


def _call_opener(record: DeviceTypeRecord, request: OpenRequest) -> Compiled:
    try:
        device = record.opener.load()(request)
    except DeviceError:
        raise
    # The opener is a plugin's code; its failure is this device's, with the cause kept.
    except Exception as error:
        raise DeviceError(f"{request.name}: {type(error).__name__}: {error}") from error
    if not isinstance(device, Compiled):
        raise DeviceError(
            f"{request.name}: the opener {record.opener.text} returned "
            f"{type(device).__name__}, expected a Compiled"
        )
    return device
