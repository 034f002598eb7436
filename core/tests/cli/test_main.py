"""The frame of the `tg` command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sample_plugins import installed, plugin

from tg_core import __version__
from tg_core.cli import main
from tg_core.cli.commands import COMMANDS
from tg_core.config import Context
from tg_core.errors import DeviceNotFound
from tg_core.plugins import Registry


def greet(arguments: list[str]) -> int:
    """The command of a plugin."""
    print("hello", *arguments)
    return 4


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "main_objects", sys.modules[__name__])


def greeter(registry: Registry) -> None:
    registry.command("greet", "main_objects:greet")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make `tg cache path` raise."""

    def raise_error(arguments: Any) -> int:
        raise error

    monkeypatch.setattr("tg_core.cli.cache.run_path", raise_error)


def test_no_arguments_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr().out
    for command in COMMANDS:
        assert command.name in output


def test_help_lists_commands_of_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(plugin("greeter", greeter)):
        main([])
    assert "greet                from tg-greeter 2.0" in capsys.readouterr().out


def test_a_command_of_a_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(plugin("greeter", greeter)):
        assert main(["greet", "you", "--all"]) == 4
    assert capsys.readouterr().out == "hello you --all\n"


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    with installed(), pytest.raises(SystemExit) as caught:
        main(["dance"])
    assert caught.value.code == 2
    assert "invalid choice: 'dance'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [DeviceNotFound("no device type X"), PermissionError("no permission")]
)
def test_errors_are_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, error)
    with Context(DEBUG=0):
        assert main(["cache", "path"]) == 1
    assert capsys.readouterr().err == f"tg: error: {error}\n"


def test_debug_shows_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, DeviceNotFound("no device type X"))
    with Context(DEBUG=1):
        assert main(["cache", "path"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["cache", "path"]) == 130
    assert capsys.readouterr().err == "\ntg: interrupted\n"


def test_faults_of_our_own_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, AssertionError("a bug"))
    with pytest.raises(AssertionError):
        main(["cache", "path"])


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tg_core", *arguments]
    named = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=named)


def test_settings_that_cannot_be_read_are_one_line() -> None:
    done = run("cache", "path", DEBUG="abc")
    assert done.returncode == 1
    assert done.stderr == "tg: error: DEBUG: expected an integer, found 'abc'\n"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"tg {__version__}\n"


def test_closed_output_is_no_reason_to_fail() -> None:
    code = "import sys; sys.stdout = None; from tg_core.cli import main; sys.exit(main(['env']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_folder_that_is_gone(tmp_path: Path) -> None:
    code = (
        "import os, sys; os.rmdir(os.getcwd()); from tg_core.cli import main;"
        " sys.exit(main(['cache', 'show']))"
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=gone
    )
    assert (done.returncode, done.stderr) == (0, "")
