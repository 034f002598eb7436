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

        There is no complex one.
        """
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
            device: has no effect, as every device has all.
            kind: one of the kinds of `isdtype`, or a tuple of them; all unless given.

        Raises:
            DTypeError: the kind is unknown.
        """
        kinds = ("bool", "numeric") if kind is None else kind
        found: dict[str, DType] = {}
        for entry in kinds if isinstance(kinds, tuple) else (kinds,):
            if entry not in BY_KIND:
                raise DTypeError(f"dtypes: unknown kind {entry!r}, expected {', '.join(BY_KIND)}")
            found.update({dtype.name: dtype for dtype in BY_KIND[entry]})
        return found


def __array_namespace_info__() -> NamespaceInfo:
    """Return the inspection functions."""
    return NamespaceInfo()
