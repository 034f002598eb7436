"""The hook specifications: all of them, documented."""

from __future__ import annotations

import inspect
import re

import pluggy
import pytest

from tg_core.plugins import hookspecs
from tg_core.plugins.manager import MANDATORY_HOOKS
from tg_core.plugins.markers import PROJECT

HOOKS = {
    "tg_register": ["registry"],
    "create_queue": ["device", "kind", "index", "ring_bytes"],
    "pm_batch": ["device"],
    "pm_encode": ["device"],
    "pm_lower": ["device"],
    "pm_bufferize": ["device"],
    "tg_report_header": [],
}
"""The contract: names and arguments, in the order in which core calls them."""


def test_the_hooks_are_exactly_these() -> None:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    found = {name for name, value in vars(manager.hook).items() if not name.startswith("_")}
    assert found == set(HOOKS)
    assert sorted(HOOKS) == hookspecs.__all__
    assert set(MANDATORY_HOOKS) <= set(HOOKS)


def test_they_stand_in_call_order() -> None:
    lines = {name: inspect.getsourcelines(getattr(hookspecs, name))[1] for name in HOOKS}
    assert sorted(lines, key=lines.__getitem__) == list(HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_each_is_documented(name: str) -> None:
    hook = getattr(hookspecs, name)
    text = inspect.getdoc(hook) or ""
    assert list(inspect.signature(hook).parameters) == HOOKS[name]
    assert re.search(r"^Called ", text, re.MULTILINE), "when and how often"
    assert ".. versionadded:: 1.0" in text
    for argument in HOOKS[name]:
        assert re.search(rf"^    {argument}: ", text, re.MULTILINE), argument
    if name != "tg_register":
        assert "Returns:" in text
