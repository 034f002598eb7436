"""Advice on what to install."""

from __future__ import annotations

import pytest

from tg_core.plugins import pip_hint


@pytest.mark.parametrize(
    ("device_type", "interface", "expected"),
    [
        ("CPU", None, "pip install tg-cpu"),
        ("AMD", None, "pip install tg-amd"),
        ("AMD", "KFD", "pip install tg-amd"),
        ("AMD", "USB", "pip install tg-usb"),
        ("NOPE", None, None),
        ("NOPE", "USB", None),
    ],
)
def test_hints(device_type: str, interface: str | None, expected: str | None) -> None:
    assert pip_hint(device_type, interface) == expected
