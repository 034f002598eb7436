"""Tables and lines."""

from __future__ import annotations

import pytest

from tg_core.cli.output import busy, plain_table, print_lines, print_table

ROWS = [("CPU", "PASS", ""), ("AMD", "FAIL", "first\nsecond")]


def test_plain_table() -> None:
    assert plain_table(("name", "state", "why"), ROWS).splitlines() == [
        "name  state  why",
        "CPU   PASS",
        "AMD   FAIL   first; second",
    ]


def test_plain_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with busy("working"):
        print_table("devices", ("name", "state", "why"), ROWS)
    output = capsys.readouterr().out
    assert output.startswith("devices\nname  state")
    assert "\x1b" not in output


def test_drawn_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with busy("working"):
        print_table("devices", ("name", "state", "why"), [("[red]CPU", "PASS", "x")])
    output = capsys.readouterr().out
    assert "┃" in output
    assert "[red]CPU" in output  # markup in a cell is text


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines("nothing", [])
    print_lines("some:", ["a", "b"])
    assert capsys.readouterr().out == "some:\n  a\n  b\n"
