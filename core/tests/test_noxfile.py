"""The sessions of noxfile.py and what CONTRIBUTING.md says of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREE = ast.parse((ROOT / "noxfile.py").read_text())
SESSIONS = [
    node.name for node in TREE.body if isinstance(node, ast.FunctionDef) and node.decorator_list
]


def constant(name: str) -> tuple[str, ...]:
    """Return the strings of a tuple that the file assigns."""
    for node in TREE.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == name:
                return tuple(n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
    raise AssertionError(name)


def test_every_session_is_described() -> None:
    described = re.findall(r"^\| `(?:nox -s )?(\w+)", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    assert set(SESSIONS) <= set(described)


def test_judges_are_sorted_sessions() -> None:
    judges = constant("JUDGES")
    assert list(judges) == sorted(judges)
    assert set(judges) | set(constant("FULL")) | {"full", "judges"} == set(SESSIONS)
