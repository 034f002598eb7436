"""Lazy references."""

from __future__ import annotations

import math

import pytest

from tg_core.errors import PluginError
from tg_core.plugins import Reference


def test_load() -> None:
    assert Reference("math:pi").load() == math.pi


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no_such_module_:x", "ModuleNotFoundError"),
        ("math:nothing", "the module has no attribute 'nothing'"),
    ],
)
def test_load_invalid(text: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        Reference(text).load()


@pytest.mark.parametrize("text", ["", "math", "math.pi", "math:", ":pi", "math:pi:x", "a b:c"])
def test_shape_invalid(text: str) -> None:
    with pytest.raises(PluginError, match="expected a string 'module:attribute'"):
        Reference(text)
