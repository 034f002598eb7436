"""Names that published packages provide, so an error can say what to install.

This is a table of advice only: nothing in core behaves differently for a name in it, and a package
that is not in it works the same.
"""

from __future__ import annotations

__all__ = ["KNOWN_INTERFACES", "KNOWN_TYPES", "pip_hint"]

KNOWN_TYPES = {
    "AMD": "tg-amd",
    "CPU": "tg-cpu",
    "NV": "tg-nv",
    "QCOM": "tg-qcom",
}
"""Device type to the distribution that registers it."""

KNOWN_INTERFACES = {("AMD", "USB"): "tg-usb"}
"""(device type, interface) to the distribution that adds it, where it is not the type's own."""


def pip_hint(device_type: str, interface: str | None = None) -> str | None:
    """Return the pip line that would add a device type or interface, if a package is known."""
    package = KNOWN_INTERFACES.get((device_type, interface or "")) or KNOWN_TYPES.get(device_type)
    return f"pip install {package}" if package else None
