"""Which device is tested, and through which interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.plugins.catalog import Catalog

__all__ = ["choose_target", "declared_features"]


def choose_target(device: str, interface: str | None, catalog: Catalog) -> str:
    """Return the `DEV` target to test.

    A type that has emulated interfaces only is tested through the first of them: there is nothing
    else to test, and the report names it.

    Args:
        device: the device type, in any case.
        interface: the interface asked for, or None.
        catalog: what plugins registered.
    """
    name = device.partition(":")[0].upper()
    if interface is None:
        found = catalog.interfaces(name)
        if found and all(record.emulated for record in found):
            interface = found[0].name
    return name if interface is None else f"{interface.upper()}+{name}"


def declared_features(device: str) -> frozenset[str]:
    """Return what the device under test offers beyond the mandatory cores.

    Args:
        device: the device name; `DEV` says through which interface it is opened.
    """
    from tg_core import Device
    from tg_core.errors import DeviceError

    opened = Device[device]
    found = {capability.name for capability in opened.capabilities}
    try:
        _ = Device[f"{opened.type}:1"]
    except DeviceError:
        return frozenset(found)
    return frozenset(found | {"SEVERAL_DEVICES"})
