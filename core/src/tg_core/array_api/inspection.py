"""What the namespace tells about itself."""

from __future__ import annotations

from typing import Any

from tg_core.array_api.data_types import BY_KIND
from tg_core.dtype import DType, dtypes
from tg_core.errors import DTypeError


class NamespaceInfo:
    """The inspection functions of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Return what arrays can do; None is no limit."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return the device of arrays that are made without one."""
        from tg_core.device import Device

        name: str = Device.DEFAULT
        return name

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return the data types that Python scalars and positions get; the same on all devices.

        There is no complex one, so the key `complex floating` is left out.

        Raises:
            DeviceError: there is no such device.
        """
        _check_device(device)
        return {
            "real floating": dtypes.default_float(),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def devices(self) -> list[str]:
        """Return the devices that can hold arrays."""
        from tg_core.device import Device

        return list(Device.get_available_devices())

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the data types of a kind by name.

        Args:
            device: one of the devices; every one has all data types.
            kind: one of the kinds of `isdtype`, or a tuple of them; all unless given.

        Raises:
            DeviceError: there is no such device.
            DTypeError: the kind is unknown.
        """
        _check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind
        found: dict[str, DType] = {}
        for entry in kinds if isinstance(kinds, tuple) else (kinds,):
            if not isinstance(entry, str) or entry not in BY_KIND:
                raise DTypeError(f"dtypes: unknown kind {entry!r}, expected {', '.join(BY_KIND)}")
            found.update({dtype.name: dtype for dtype in BY_KIND[entry]})
        return found


def _check_device(device: str | None) -> None:
    if device is not None:
        from tg_core.device import Device

        Device.require(device)


def __array_namespace_info__() -> NamespaceInfo:
    """Return the inspection functions."""
    return NamespaceInfo()
