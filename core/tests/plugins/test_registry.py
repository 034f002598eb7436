"""The door plugins register through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tg_core.errors import PluginError
from tg_core.plugins import Capability, NeedsSystem, Registry


def test_everything_is_collected_in_order() -> None:
    registry = Registry()
    registry.device_type("X", "x.device:X", 5, "an X", [NeedsSystem("Linux")])
    registry.interface("X", "REAL", "x.real:Real")
    registry.interface("X", "MOCK", "x.mock:Mock", emulated=True)
    registry.allocator("X", "x.memory:Allocator")
    registry.queue("X", "COMPUTE", "x.queue:Compute")
    registry.renderer("X", "LLVM", "x.render:Llvm")
    registry.capability("X", Capability.QUEUES, Capability.COPY_QUEUE)
    registry.extend_device_type("Y", "an interface")
    registry.command("x-info", "x.cli:info")
    kinds = [type(record).__name__.removesuffix("Record") for record in registry.close()]
    assert kinds == [
        "DeviceType",
        "Interface",
        "Interface",
        "Allocator",
        "Queue",
        "Renderer",
        "Capability",
        "Capability",
        "Extension",
        "Command",
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r: r.device_type("cpu", "a:b"),
            "device_type.'cpu'.: name 'cpu', expected an upper",
        ),
        (lambda r: r.device_type("", "a:b"), "name ''"),
        (lambda r: r.device_type(3, "a:b"), "name 3"),
        (lambda r: r.device_type("X", "no colon"), "reference 'no colon'"),
        (lambda r: r.device_type("X", object()), "expected a string 'module:attribute'"),
        (lambda r: r.device_type("X", "a:b", priority="high"), "priority is 'high'"),
        (lambda r: r.device_type("X", "a:b", priority=True), "priority is True"),
        (lambda r: r.device_type("X", "a:b", needs=["llvmlite"]), "need 'llvmlite'"),
        (lambda r: r.interface("X", "kfd", "a:b"), "name 'kfd'"),
        (lambda r: r.renderer("X", "LLVM", "a.b"), "reference 'a.b'"),
        (lambda r: r.capability("X", "QUEUES"), "'QUEUES' is not a Capability"),
        (lambda r: r.command("Two Words", "a:b"), "lower-case words"),
    ],
)
def test_arguments_invalid(call: Callable[[Any], None], message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        call(Registry())
    assert str(caught.value).startswith("registry.")


def test_the_same_thing_twice() -> None:
    registry = Registry()
    registry.device_type("X", "a:b")
    with pytest.raises(PluginError, match="registered twice by the same plugin"):
        registry.device_type("X", "c:d")


def test_nothing_after_the_end() -> None:
    registry = Registry()
    registry.close()
    with pytest.raises(PluginError, match="registration has ended"):
        registry.device_type("X", "a:b")
