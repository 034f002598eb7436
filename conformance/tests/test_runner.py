"""The command line of the suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tg_conformance import runner
from tg_conformance.judge import parse_levels


def collect(monkeypatch: pytest.MonkeyPatch, *argv: str) -> list[str]:
    seen: list[list[str]] = []

    def fake_call(arguments: list[str], env: dict[str, str]) -> int:
        assert arguments[1:3] == ["-m", "pytest"]
        assert Path(env["TG_CACHE_DIR"]).is_dir()
        assert env["TG_CACHE_DIR"] != os.environ["TG_CACHE_DIR"]
        seen.append(arguments[3:])
        return 3

    monkeypatch.setattr(runner.subprocess, "call", fake_call)
    assert runner.main(argv) == 3
    return seen[0]


def test_device_interface_and_further_arguments_reach_pytest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = collect(monkeypatch, "--device", "AMD", "--interface", "MOCKKFD", "-k", "memory")
    assert found[-6:] == ["--tg-device", "AMD", "--tg-interface", "MOCKKFD", "-k", "memory"]


def test_paths_are_of_the_folder_it_is_started_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--device", "CPU", "--report", "a.json", "--report", "b.html", "--level", "0-2"]
    found = collect(monkeypatch, *options, "--expected-failures", "known.txt")
    assert str(tmp_path / "a.json") in found
    assert str(tmp_path / "b.html") in found
    assert found[found.index("--tg-level") + 1] == "0-2"
    assert found[found.index("--tg-expected") + 1] == str(tmp_path / "known.txt")


def test_without_interface_none_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--tg-interface" not in collect(monkeypatch, "--device", "CPU")


def test_a_device_is_required_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main([])
    assert "--device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [([], range(8)), (["2"], [2]), (["0-2"], [0, 1, 2]), (["1", "4-5"], [1, 4, 5])],
)
def test_levels(texts: list[str], wanted: list[int]) -> None:
    assert parse_levels(texts) == frozenset(wanted)


@pytest.mark.parametrize("text", ["x", "-1", "8", "2-x", "0-9", ""])
def test_levels_invalid(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="level"):
        parse_levels([text])


def test_devices_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def fake_call(arguments: list[str], env: dict[str, str]) -> int:
        device = arguments[arguments.index("--tg-device") + 1]
        seen.append((device, Path(arguments[arguments.index("--tg-report") + 1]).name))
        return 5 if device == "B" else 0

    monkeypatch.setattr(runner.subprocess, "call", fake_call)
    devices = ["--device", "A", "--device", "B", "--device", "C"]
    assert runner.main([*devices, "--report", "of-{device}.json"]) == 5
    assert seen == [(name, f"of-{name.lower()}.json") for name in "ABC"]


@pytest.mark.parametrize("option", [["--jobs", "2"], ["-n", "2"], ["-n2"]])
def test_jobs_reach_xdist(option: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = collect(monkeypatch, "--device", "CPU", *option)
    assert found[-4:] == ["-p", "xdist.plugin", "--numprocesses", "2"]
    assert "xdist.plugin" not in collect(monkeypatch, "--device", "CPU", "--jobs", "1")


def test_a_signal_is_a_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def killed(arguments: list[str], env: dict[str, str]) -> int:
        return -11

    monkeypatch.setattr(runner.subprocess, "call", killed)
    assert runner.main(["--device", "CPU"]) == 11
    assert "CPU: FAILED: SIGSEGV ended the run" in capsys.readouterr().out
