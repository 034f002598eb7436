"""`tg devices`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sample_plugins import HOST, OPENER, device_of, installed, plugin

from tg_core.cli import main
from tg_core.config import Context
from tg_core.plugins import NeedsPath, Registry


@pytest.fixture(autouse=True)
def _probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the answers of probes, which start processes that do not know the sample plugins."""

    def result(name: str) -> dict[str, Any]:
        if name == "SICK":
            return {"ok": False, "reason": "SICK: no interface could open it\n  KFD: closed"}
        return {"ok": True, "interface": None, "arch": "x1", "check": "memory"}

    monkeypatch.setattr("tg_core.cli.probe.start_probe", str)
    monkeypatch.setattr("tg_core.cli.probe.result_of", result)


def needy(registry: Registry) -> None:
    registry.device_type("NEEDY", OPENER, 20, "needs", [NeedsPath("/no/such", "load it")])


def sick(registry: Registry) -> None:
    registry.device_type("SICK", OPENER, 15, "sick")
    registry.interface("SICK", "KFD", "a:b")
    registry.interface("SICK", "MOCK", "a:b", emulated=True)
    registry.renderer("SICK", "LLVM", "a:b")
    registry.allocator("SICK", HOST)


def broken(registry: Registry) -> None:
    raise OSError("libthing.so is missing")


def devices_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["devices", "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_everything_is_listed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(
        plugin("needy", needy),
        plugin("sick", sick),
        plugin("cpux", device_of("CPUX", 10)),
        plugin("broken", broken),
    ):
        assert main(["devices"]) == 0
        lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "FAIL" in lines["NEEDY"]
    assert "/no/such does not exist: load it" in lines["NEEDY"]
    assert "KFD, MOCK (emulated)" in lines["SICK"]
    assert "SICK: no interface could open it;   KFD: closed" in lines["SICK"]
    assert lines["CPUX"].split()[:3] == ["CPUX", "PASS", "default"]
    assert "default" not in lines["PYTHON"]
    assert lines["tg-broken"] == "  tg-broken 2.0 (broken): OSError: libthing.so is missing"
    assert lines["AMD:"] == "  AMD: pip install tg-amd"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(plugin("sick", sick), plugin("cpux", device_of("CPUX", 10)), blocked="x"):
        found = devices_json(capsys)
    assert found["default"] == "CPUX"
    entry = found["devices"][0]
    assert entry["name"] == "SICK"
    assert entry["interfaces"] == [
        {"name": "KFD", "emulated": False},
        {"name": "MOCK", "emulated": True},
    ]
    assert entry["renderers"] == ["LLVM"]
    assert entry["plugin"] == "tg-sick 2.0"
    assert not entry["ok"]
    assert not entry["default"]


def test_default_follows_dev(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(plugin("cpux", device_of("CPUX", 10))), Context(DEV="PYTHON"):
        assert devices_json(capsys)["default"] == "PYTHON"


def test_no_usable_default(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(), Context(DEV="NOPE"):
        assert main(["devices"]) == 1
    assert "no device can be used by default" in capsys.readouterr().out


def test_blocked_plugins_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(plugin("cpux", device_of("CPUX", 10)), blocked="cpux"):
        found = devices_json(capsys)
    assert found["plugins_not_in_use"] == [
        {
            "distribution": "tg-cpux",
            "version": "2.0",
            "plugin": "cpux",
            "blocked": True,
            "reason": "blocked by TG_BLOCK_PLUGINS",
        }
    ]
