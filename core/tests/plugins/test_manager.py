"""Loading plugins: isolation, versions, reasons."""

from __future__ import annotations

import sys
import types

import pytest
from sample_plugins import BUILTIN, device_of, plugin

from tg_core.errors import PluginError
from tg_core.plugins.manager import PluginManager
from tg_core.plugins.markers import HOOK_VERSION, hookimpl
from tg_core.plugins.records import PluginSource
from tg_core.plugins.registry import Registry


def load(*sources: PluginSource, blocked: str = "", strict: bool = False) -> PluginManager:
    return PluginManager([BUILTIN, *sources], blocked=blocked, strict=strict)


def types_of(manager: PluginManager) -> list[str]:
    return [record.name for record in manager.catalog.types()]


def reason_of(manager: PluginManager, name: str) -> str:
    return {failure.source.name: failure.reason for failure in manager.failures}[name]


def test_core_alone_has_its_own_devices() -> None:
    manager = load()
    assert types_of(manager) == ["PYTHON", "NULL", "NPY", "DISK"]
    assert manager.failures == []


def test_priority_orders_types() -> None:
    manager = load(plugin("a", device_of("SLOW", 1)), plugin("b", device_of("FAST", 10)))
    assert types_of(manager)[:3] == ["FAST", "SLOW", "PYTHON"]


def test_a_plugin_that_raises_breaks_only_itself() -> None:
    def register(registry: Registry) -> None:
        registry.device_type("HALF", "a:b")
        raise ValueError("no\nluck")

    manager = load(plugin("broken", register), plugin("good", device_of("GOOD")))
    assert "GOOD" in types_of(manager)
    assert "HALF" not in types_of(manager)
    assert reason_of(manager, "broken") == "ValueError: no luck"


def test_a_plugin_that_exits_breaks_only_itself() -> None:
    def register(registry: Registry) -> None:
        sys.exit(3)

    manager = load(plugin("exits", register), plugin("good", device_of("GOOD")))
    assert "GOOD" in types_of(manager)
    assert reason_of(manager, "exits") == "SystemExit: 3"


def test_missing_module_says_what_to_install() -> None:
    source = PluginSource("tg-gone", "gone", "sample_gone_module", "1")
    assert reason_of(load(source), "gone") == (
        "No module named 'sample_gone_module': pip install --force-reinstall tg-gone"
    )


def test_missing_dependency_says_what_to_install() -> None:
    def register(registry: Registry) -> None:
        import no_such_dependency_  # type: ignore[import-not-found]  # noqa: F401  # on purpose

    reason = reason_of(load(plugin("needy", register)), "needy")
    assert "No module named 'no_such_dependency_'" in reason
    assert "pip install tg-needy" in reason


def test_unknown_hook_is_an_error() -> None:
    def pm_encodee(device: object) -> None:
        """A misspelt hook."""

    manager = load(plugin("typo", device_of("TYPO"), pm_encodee=pm_encodee))
    assert "unknown hook 'pm_encodee'" in reason_of(manager, "typo")
    assert "TYPO" not in types_of(manager)


def test_one_unknown_hook_does_not_fail_the_next_plugin() -> None:
    def pm_encodee(device: object) -> None:
        """A misspelt hook."""

    manager = load(
        plugin("atypo", device_of("TYPO"), pm_encodee=pm_encodee),
        plugin("good", device_of("GOOD")),
    )
    assert [failure.source.name for failure in manager.failures] == ["atypo"]


def test_unknown_argument_is_an_error() -> None:
    def pm_encode(gadget: object) -> None:
        """A hook with an argument it does not get."""

    manager = load(plugin("argument", device_of("ARG"), pm_encode=pm_encode))
    assert "gadget" in reason_of(manager, "argument")


def test_fewer_arguments_are_fine() -> None:
    def create_queue(kind: str) -> None:
        """Needs only one of the arguments."""

    manager = load(plugin("fewer", device_of("FEW"), create_queue=create_queue))
    assert manager.failures == []


def test_mandatory_hook() -> None:
    assert reason_of(load(plugin("empty")), "empty") == (
        "does not implement the hook tg_register, which every plugin must"
    )


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "declares no TG_HOOK_VERSION"),
        ("1.0", "TG_HOOK_VERSION is '1.0', expected (major, minor)"),
        ((1,), "expected (major, minor)"),
        (
            (HOOK_VERSION[0] + 1, 0),
            f"tg-v 2.0 is written for hook version {HOOK_VERSION[0] + 1}.0, tg-core serves "
            f"{HOOK_VERSION[0]}.{HOOK_VERSION[1]}: pip install --upgrade tg-core",
        ),
        ((HOOK_VERSION[0], HOOK_VERSION[1] + 1), "pip install --upgrade tg-core"),
        ((HOOK_VERSION[0] - 1, 99), "pip install --upgrade tg-v"),
    ],
)
def test_version_mismatch(version: object, message: str) -> None:
    assert message in reason_of(load(plugin("v", device_of("V"), version=version)), "v")


def test_older_minor_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tg_core.plugins.manager.HOOK_VERSION", (HOOK_VERSION[0], 7))
    assert load(plugin("v", device_of("V"))).failures == []


@pytest.mark.parametrize("blocked", ["a", "tg-a", "TG_A", "x, a", "tg.a,"])
def test_blocked_by_name_or_distribution(blocked: str) -> None:
    manager = load(plugin("a", device_of("A")), plugin("b", device_of("B")), blocked=blocked)
    assert "A" not in types_of(manager)
    assert "B" in types_of(manager)
    assert manager.failures[0].blocked
    assert reason_of(manager, "a") == "blocked by TG_BLOCK_PLUGINS"


def test_a_blocked_plugin_is_not_imported() -> None:
    source = PluginSource("tg-ghost", "ghost", "sample_ghost_module", "1")
    assert reason_of(load(source, blocked="ghost"), "ghost") == "blocked by TG_BLOCK_PLUGINS"


def test_strict_mode_raises() -> None:
    with pytest.raises(PluginError, match=r"plugin 'empty' of tg-empty 2\.0: does not implement"):
        load(plugin("empty"), strict=True)


def test_one_module_twice() -> None:
    source = plugin("a", device_of("A"))
    again = PluginSource("tg-other", "other", source.module, "1")
    manager = load(source, again)
    assert "A" in types_of(manager)
    assert len(manager.failures) == 1


def test_registration_is_not_seen_before_it_ends() -> None:
    kept: list[Registry] = []
    manager = load(plugin("keeper", kept.append))
    with pytest.raises(PluginError, match="registration has ended"):
        kept[0].device_type("LATE", "a:b")
    assert "LATE" not in types_of(manager)


def test_functions_without_the_marker_are_no_hooks() -> None:
    source = plugin("plain", device_of("PLAIN"))
    module: types.ModuleType = sys.modules[source.module]
    module.pm_whatever = print  # type: ignore[attr-defined]  # a module made by hand
    assert hookimpl is not None
    assert load(source).failures == []
