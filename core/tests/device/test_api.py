"""The base classes: what a backend gets when it overrides nothing."""

from __future__ import annotations

import re
import sys

import pytest
from sample_plugins import OPENER, installed, plugin

from tg_core.config import Context
from tg_core.device import Allocator, BufferOptions, Compiled, Device
from tg_core.errors import DeviceError
from tg_core.plugins import Capability, Registry


class Bare(Allocator):
    """Overrides nothing."""


def renderer_for(arch: str) -> str:
    """Stand for a renderer."""
    return f"renderer for {arch!r}"


def other_renderer_for(arch: str) -> str:
    """Stand for another renderer."""
    return f"other for {arch!r}"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "api_objects", sys.modules[__name__])


def bare(registry: Registry) -> None:
    registry.device_type("BARE", OPENER)
    registry.allocator("BARE", "api_objects:Bare")
    registry.renderer("BARE", "ONE", "api_objects:renderer_for")
    registry.renderer("BARE", "TWO", "api_objects:other_renderer_for")


def test_what_is_not_overridden_is_an_error_that_names_the_device() -> None:
    with installed(plugin("bare", bare)):
        allocator = Device["BARE"].allocator
        for call in (
            lambda: allocator.alloc(1, BufferOptions()),
            lambda: allocator.copyin(None, memoryview(b"")),
            lambda: allocator.copyout(memoryview(b""), None),
            lambda: allocator.offset(None, 1, 1),
            lambda: allocator.address(None),
        ):
            with pytest.raises(DeviceError, match=r"^BARE: "):
                call()
        assert allocator.as_memoryview(None) is None
        assert allocator.limit() is None
        assert not allocator.transfer(None, None, 1, Device["BARE"])
        allocator.free(None, 1, BufferOptions())


def test_the_allocator_must_be_one() -> None:
    def register(registry: Registry) -> None:
        registry.device_type("ODD", OPENER)
        registry.allocator("ODD", "api_objects:renderer_for")

    with (
        installed(plugin("odd", register)),
        pytest.raises(DeviceError, match="api_objects:renderer_for is not an Allocator but str"),
    ):
        _ = Device["ODD"].allocator


def test_the_renderer_follows_dev_on_the_same_device() -> None:
    with installed(plugin("bare", bare)):
        device = Device["BARE"]
        assert device.renderer == "renderer for ''"
        with Context(DEV="BARE:TWO:x1"):
            assert Device["BARE"] is device
            assert device.renderer == "other for 'x1'"
        assert device.renderer == "renderer for ''"


def test_every_capability_is_in_the_table() -> None:
    table = set(re.findall(r"\| `([A-Z_]+)` \|", Compiled.__doc__ or ""))
    assert table == {capability.name for capability in Capability}


def test_every_method_of_the_allocator_is_in_the_table() -> None:
    rows = re.findall(r"^    \| (`.*?`) \|", Allocator.__doc__ or "", re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    public = {name for name in vars(Allocator) if not name.startswith("_") and name != "cached"}
    assert named == public


def test_repr_names_the_interface() -> None:
    assert repr(Device["PYTHON:4"]) == "<device PYTHON:4>"
