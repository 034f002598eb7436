"""Context variables."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tg_core import config
from tg_core.config import DEBUG, DEV, Context, ContextVar, codegen_state
from tg_core.errors import ConfigError


def test_context_overrides_and_restores() -> None:
    before = DEBUG.value
    with Context(DEBUG=3):
        assert DEBUG.value == 3
        with Context(DEBUG=5, DEV="NULL"):
            assert (DEBUG.value, DEV.value) == (5, "NULL")
        assert DEBUG.value == 3
    assert DEBUG.value == before


def test_context_restores_on_error() -> None:
    before = DEBUG.value
    with pytest.raises(ZeroDivisionError), Context(DEBUG=9):
        _ = 1 // 0
    assert DEBUG.value == before


def test_one_context_object_may_nest_in_itself() -> None:
    before = DEBUG.value
    context = Context(DEBUG=7)
    with context, context:
        assert DEBUG.value == 7
    assert DEBUG.value == before


def test_unknown_name_changes_nothing() -> None:
    before = DEBUG.value
    with pytest.raises(ConfigError, match="NO_SUCH"), Context(DEBUG=4, NO_SUCH=1):
        pass
    assert DEBUG.value == before


def test_wrong_type_changes_nothing() -> None:
    before = DEBUG.value
    with pytest.raises(ConfigError, match="DEV: expected str"), Context(DEBUG=4, DEV=1):
        pass
    assert DEBUG.value == before


def test_comparisons_and_truth() -> None:
    with Context(DEBUG=2):
        assert DEBUG >= 2
        assert DEBUG > 1
        assert DEBUG < 3
        assert DEBUG <= 2
        assert bool(DEBUG)
    with Context(DEBUG=0):
        assert not DEBUG


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ConfigError, match="twice"):
        ContextVar("DEBUG", 1)


def test_every_variable_is_documented() -> None:
    undocumented = [name for name, variable in config.VARIABLES.items() if not variable.doc]
    assert undocumented == []


def test_codegen_state_follows_values() -> None:
    with Context(NOOPT=0):
        plain = codegen_state()
    with Context(NOOPT=1):
        assert codegen_state() != plain
    assert "DEBUG" not in dict(plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", "4"),
        (" 4 ", "4"),
        ("", "0"),
        (" ", "0"),
        ("x", "ConfigError: DEBUG: expected an integer, found 'x'"),
    ],
)
def test_environment_is_read(text: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from tg_core.config import DEBUG; print(DEBUG.value)"],
        env={"DEBUG": text, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout + done.stderr
