"""The registry of devices: names, defaults, opening, and the reasons in its errors."""

from __future__ import annotations

from typing import Any

import pytest
from sample_plugins import HOST, OPENER, device_of, installed, plugin

from tg_core.config import Context
from tg_core.device import Compiled, Device, OpenRequest
from tg_core.errors import DeviceError, DeviceNotFound
from tg_core.plugins import Need, NeedsModule, NeedsPath, Registry

HERE = __name__


class Interface:
    """An interface that opens."""

    def __init__(self, index: int) -> None:
        self.index = index


class Closed:
    """An interface that says why it does not open."""

    def __init__(self, index: int) -> None:
        raise PermissionError("no permission on /dev/kfd: join the group render")


def failing_opener(request: OpenRequest) -> Compiled:
    raise RuntimeError("the firmware is asleep")


def wrong_opener(request: OpenRequest) -> Any:
    return object()


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this module importable under a fixed name, for references."""
    import sys

    monkeypatch.setitem(sys.modules, "registry_objects", sys.modules[__name__])


def accelerator(*interfaces: tuple[str, str, bool]) -> Any:
    def register(registry: Registry) -> None:
        registry.device_type("ACC", OPENER, priority=10)
        registry.allocator("ACC", HOST)
        registry.renderer("ACC", "LLVM", "a:b")
        for name, cls, emulated in interfaces:
            registry.interface("ACC", name, f"registry_objects:{cls}", emulated=emulated)

    return register


def test_devices_stay_open() -> None:
    with installed(plugin("acc", accelerator())):
        assert not Device.is_open("ACC")
        assert Device["ACC"] is Device["acc:0"]
        assert Device.is_open("ACC")
        assert Device["ACC:1"] is not Device["ACC"]
        assert [device.name for device in Device.opened()] == ["ACC", "ACC:1"]
        assert Device["ACC:1"].index == 1


def test_default_is_the_usable_type_of_highest_priority() -> None:
    with installed(plugin("acc", accelerator())):
        assert Device.DEFAULT == "ACC"
        assert Device.canonicalize(None) == "ACC"
        assert Device.require(None) == "ACC"


def test_default_passes_over_what_does_not_open() -> None:
    with installed(plugin("acc", accelerator(("KFD", "Closed", False)))):
        with pytest.warns(UserWarning, match="ACC: no interface could open it") as caught:
            assert Device.DEFAULT == "PYTHON"
        assert "KFD: no permission on /dev/kfd: join the group render" in str(caught[0].message)
        assert "pip install tg-cpu" in str(caught[0].message)


def test_default_passes_over_unmet_needs() -> None:
    def register(registry: Registry) -> None:
        needs: list[Need] = [NeedsModule("no_such_"), NeedsPath("/no/such/node", "load the driver")]
        registry.device_type("ACC", OPENER, priority=10, needs=needs)

    with (
        installed(plugin("acc", register), plugin("cpu", device_of("CPUX", 5))),
    ):
        assert Device.DEFAULT == "CPUX"
        with pytest.raises(DeviceNotFound) as caught:
            _ = Device["ACC"]
        assert "ACC: no Python module 'no_such_': pip install no_such_" in str(caught.value)
        assert "/no/such/node does not exist: load the driver" in str(caught.value)


def test_default_follows_dev() -> None:
    with installed(plugin("acc", accelerator()), plugin("b", device_of("OTHER"))):
        with Context(DEV="other;ACC"):
            assert Device.DEFAULT == "OTHER"
        assert Device.DEFAULT == "ACC"
        with Context(DEV="NOPE"), pytest.raises(DeviceNotFound, match="no device type NOPE"):
            _ = Device.DEFAULT


def test_unknown_type_lists_what_exists_and_close_names() -> None:
    with (
        installed(plugin("acc", accelerator())),
        pytest.raises(DeviceNotFound) as caught,
    ):
        _ = Device["PITHON"]
    assert str(caught.value) == (
        "no device type PITHON; installed: ACC, PYTHON, NULL, NPY, DISK; did you mean PYTHON?"
    )


def test_unknown_type_of_a_known_package_names_it() -> None:
    with installed(), pytest.raises(DeviceNotFound, match="to add it: pip install tg-amd"):
        _ = Device["amd:1"]


def test_unknown_type_shows_the_plugins_that_failed() -> None:
    def register(registry: Registry) -> None:
        raise OSError("libthing.so is missing")

    with (
        installed(plugin("cpu", register)),
        pytest.raises(DeviceNotFound) as caught,
    ):
        Device.require("CPU")
    message = str(caught.value)
    assert "plugin tg-cpu 2.0 is not in use: OSError: libthing.so is missing" in message
    assert "to add it" not in message


@pytest.mark.parametrize("name", ["PYTHON:x", "NPY:1.5", "PYTHON:-1"])
def test_index_must_be_a_number(name: str) -> None:
    with pytest.raises(DeviceNotFound, match="expected a number"):
        Device.require(name)
    with pytest.raises(DeviceNotFound, match="expected a number"):
        _ = Device[name]


def test_canonicalize_does_not_ask_whether_it_exists() -> None:
    assert Device.canonicalize("AMD:0") == "AMD"
    assert Device.canonicalize("nope:3") == "NOPE:3"


def test_interfaces_are_tried_in_order() -> None:
    interfaces = (("KFD", "Closed", False), ("PCI", "Interface", False))
    with installed(plugin("acc", accelerator(*interfaces))):
        device = Device["ACC:1"]
        assert device.interface_name == "PCI"
        assert device.interface.index == 1


def test_every_interface_tried_is_in_the_error() -> None:
    interfaces = (("KFD", "Closed", False), ("PCI", "Gone", False), ("MOCK", "Interface", True))
    with installed(plugin("acc", accelerator(*interfaces))):
        with pytest.raises(DeviceNotFound) as caught:
            _ = Device["ACC"]
        lines = str(caught.value).splitlines()
        assert lines[0] == "ACC: no interface could open it"
        assert lines[1] == "  KFD: no permission on /dev/kfd: join the group render"
        assert lines[2].startswith("  PCI: reference 'registry_objects:Gone'")
        assert lines[3] == "  not tried, emulated: MOCK (DEV=MOCK+ACC)"


def test_an_emulated_interface_is_used_on_request_only() -> None:
    with installed(plugin("acc", accelerator(("MOCK", "Interface", True)))):
        with pytest.raises(DeviceNotFound, match="not tried, emulated: MOCK"):
            _ = Device["ACC"]
        with Context(DEV="mock+acc"):
            assert Device["ACC"].interface_name == "MOCK"


def test_visible_indices() -> None:
    with (
        installed(plugin("acc", accelerator(("KFD", "Interface", False)))),
        Context(DEV="KFD:3,1+ACC"),
    ):
        assert Device["ACC"].interface.index == 3
        assert Device["ACC:1"].interface.index == 1
        assert Device["ACC:1"].physical_index == 1
        with pytest.raises(DeviceNotFound, match=r"makes 2 devices visible \(3, 1\)"):
            _ = Device["ACC:2"]


def test_unknown_interface_and_renderer_list_what_exists() -> None:
    with installed(plugin("acc", accelerator(("KFD", "Interface", False)))):
        with (
            Context(DEV="USB+ACC"),
            pytest.raises(DeviceNotFound, match="no interface USB of ACC; interfaces of ACC: KFD"),
        ):
            _ = Device["ACC"]
        with (
            Context(DEV="ACC:PTX"),
            pytest.raises(DeviceNotFound, match="no renderer PTX of ACC; renderers of ACC: LLVM"),
        ):
            _ = Device["ACC"]


def test_an_extension_does_not_change_how_a_device_opens() -> None:
    def extend(registry: Registry) -> None:
        registry.extend_device_type("ACC", "another way in")
        registry.interface("ACC", "EXTRA", "registry_objects:Interface")

    with installed(plugin("acc", accelerator()), plugin("extra", extend)):
        assert Device["ACC"].interface_name is None
        with Context(DEV="EXTRA+ACC"):
            assert Device["ACC"].interface_name == "EXTRA"
        assert Device["ACC"].interface_name is None


@pytest.mark.parametrize(
    ("opener", "message"),
    [
        ("failing_opener", "BAD: RuntimeError: the firmware is asleep"),
        ("wrong_opener", "returned object, expected a Compiled"),
        ("no_opener", "has no attribute 'no_opener'"),
    ],
)
def test_openers_that_fail(opener: str, message: str) -> None:
    def register(registry: Registry) -> None:
        registry.device_type("BAD", f"registry_objects:{opener}", priority=10)

    with installed(plugin("bad", register)):
        with pytest.raises(DeviceError, match=message):
            _ = Device["BAD"]
        # The others are not affected.
        assert Device["PYTHON"].name == "PYTHON"


def test_available_devices() -> None:
    with installed(
        plugin("acc", accelerator(("KFD", "Closed", False))), plugin("b", device_of("OTHER", 3))
    ):
        assert Device.get_available_devices() == ["OTHER", "PYTHON", "NULL", "NPY", "DISK"]


def test_finalize_goes_on_after_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    closed: list[str] = []

    class Noisy(Compiled):
        def finalize(self) -> None:
            closed.append(self.name)
            if self.index == 1:
                raise RuntimeError("stuck")

    with installed(plugin("acc", accelerator())):
        Device["ACC"].__class__ = Noisy
        Device["ACC:1"].__class__ = Noisy
        Device.finalize()
        assert closed == ["ACC:1", "ACC"]
    assert "ACC:1: RuntimeError: stuck" in capsys.readouterr().err


def test_parts_that_are_missing() -> None:
    def register(registry: Registry) -> None:
        registry.device_type("BARE", OPENER)

    with installed(plugin("bare", register)):
        with pytest.raises(DeviceError, match="no allocator is registered for BARE"):
            _ = Device["BARE"].allocator
        with pytest.raises(DeviceNotFound, match="BARE: no renderer; renderers of BARE: none"):
            _ = Device["BARE"].renderer
