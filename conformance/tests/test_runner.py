"""The command line of the suite."""

from __future__ import annotations

import pytest

from tg_conformance import runner


def collect(monkeypatch: pytest.MonkeyPatch, *argv: str) -> list[str]:
    seen: list[list[str]] = []

    def fake_call(arguments: list[str]) -> int:
        assert arguments[1:3] == ["-m", "pytest"]
        seen.append(arguments[3:])
        return 3

    monkeypatch.setattr(runner.subprocess, "call", fake_call)
    assert runner.main(argv) == 3
    return seen[0]


def test_device_interface_and_further_arguments_reach_pytest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = collect(monkeypatch, "--device", "AMD", "--interface", "MOCKKFD", "-k", "memory")
    assert found[:2] == ["--pyargs", "tg_conformance.suite"]
    assert found[-6:] == ["--tg-device", "AMD", "--tg-interface", "MOCKKFD", "-k", "memory"]


def test_without_interface_none_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--tg-interface" not in collect(monkeypatch, "--device", "CPU")


def test_a_device_is_required_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main([])
    assert "--device" in capsys.readouterr().err
