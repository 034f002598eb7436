"""Merging registrations: clashes, extensions, order."""

from __future__ import annotations

import itertools

from sample_plugins import BUILTIN, HOST, OPENER, device_of, plugin

from tg_core.plugins import Capability, Registry
from tg_core.plugins.manager import PluginManager
from tg_core.plugins.records import PluginSource


def load(*sources: PluginSource, blocked: str = "") -> PluginManager:
    return PluginManager([BUILTIN, *sources], blocked=blocked, strict=False)


def reasons(manager: PluginManager) -> dict[str, str]:
    return {failure.source.name: failure.reason for failure in manager.failures}


def extension(name: str, interface: str) -> PluginSource:
    def register(registry: Registry) -> None:
        registry.extend_device_type("BASE", f"the interface {interface}")
        registry.interface("BASE", interface, "tg_core.device.null:NullBlock")

    return plugin(name, register)


def base(registry: Registry) -> None:
    registry.device_type("BASE", OPENER)
    registry.allocator("BASE", HOST)
    registry.interface("BASE", "OWN", "tg_core.device.null:NullBlock")
    registry.renderer("BASE", "SECOND", "a:b")
    registry.renderer("BASE", "ANOTHER", "a:b")
    registry.queue("BASE", "COMPUTE", "a:b")
    registry.capability("BASE", Capability.QUEUES)


def test_two_packages_with_one_name_are_both_left_out() -> None:
    manager = load(plugin("one", device_of("SAME")), plugin("two", device_of("SAME")))
    assert manager.catalog.type("SAME") is None
    for name in ("one", "two"):
        reason = reasons(manager)[name]
        assert "device type SAME is registered by both tg-one 2.0 and tg-two 2.0" in reason
        assert f"TG_BLOCK_PLUGINS=tg-{name}" in reason


def test_blocking_one_chooses_the_other() -> None:
    manager = load(
        plugin("one", device_of("SAME")), plugin("two", device_of("SAME")), blocked="tg-one"
    )
    assert manager.catalog.owner("SAME").source.name == "two"


def test_core_keeps_its_own_names() -> None:
    manager = load(plugin("thief", device_of("PYTHON")))
    assert manager.catalog.owner("PYTHON").source.builtin
    assert "registered by both tg-core" in reasons(manager)["thief"]


def test_a_clash_of_parts() -> None:
    manager = load(
        plugin("base", base), extension("usb", "USB"), extension("bus", "USB"), extension("x", "X")
    )
    assert [each.name for each in manager.catalog.interfaces("BASE")] == ["OWN", "X"]
    assert "interface USB+BASE is registered by both" in reasons(manager)["usb"]


def test_extension_without_its_base() -> None:
    manager = load(extension("usb", "USB"))
    assert reasons(manager)["usb"] == ("extends device type BASE, which no plugin in use registers")


def test_extension_of_a_known_package_names_it() -> None:
    def register(registry: Registry) -> None:
        registry.extend_device_type("AMD", "an interface")

    assert "(pip install tg-amd)" in reasons(load(plugin("usb", register)))["usb"]


def test_extensions_of_a_rejected_base_are_rejected_too() -> None:
    manager = load(plugin("base", base), plugin("again", base), extension("usb", "USB"))
    assert set(reasons(manager)) == {"base", "again", "usb"}


def test_parts_need_an_announced_extension() -> None:
    def register(registry: Registry) -> None:
        registry.renderer("BASE", "SNEAKY", "a:b")

    manager = load(plugin("base", base), plugin("sneaky", register))
    assert (
        "a part (renderer) of device type BASE, which it neither owns nor extends"
        in (reasons(manager)["sneaky"])
    )


def test_what_core_asks_is_the_same_in_any_order_of_registration() -> None:
    sources = [plugin("base", base), extension("zeta", "Z"), extension("alpha", "A")]
    for order in itertools.permutations(sources):
        catalog = load(*order).catalog
        assert [each.source.name for each in catalog.hook_order("BASE")] == [
            "alpha",
            "zeta",
            "base",
        ]
        assert [each.name for each in catalog.interfaces("BASE")] == ["OWN", "A", "Z"]
        assert [each.name for each in catalog.renderers("BASE")] == ["SECOND", "ANOTHER"]
        assert [each.kind for each in catalog.queues("BASE")] == ["COMPUTE"]
        assert catalog.capabilities("BASE") == {Capability.QUEUES}


def test_unknown_types_have_nothing() -> None:
    catalog = load().catalog
    assert catalog.type("X") is None
    assert catalog.interfaces("X") == ()
    assert catalog.renderers("X") == ()
    assert catalog.allocator("X") is None
    assert catalog.capabilities("X") == frozenset()


def test_commands() -> None:
    def register(registry: Registry) -> None:
        registry.command("hello", "a:b")

    commands = load(plugin("greeter", register)).catalog.commands()
    assert commands["hello"][1].distribution == "tg-greeter"
