"""The shape of the source tree: small modules, and packages that only re-export."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("core/src/tg_core", "plugins/tg-cpu/src/tg_cpu", "conformance/src/tg_conformance")
MODULES = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
PACKAGES = [path for path in MODULES if path.name == "__init__.py"]
LINE_LIMIT = 500
# The table of lazy exports needs a function that reads it.
LAZY = {"core/src/tg_core/__init__.py", "core/src/tg_core/backend.py"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def exports_of(path: Path) -> list[str] | None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            value = node.value  # type: ignore[attr-defined]  # both kinds of assignment have it
            return [element.value for element in value.elts]
    return None


def test_the_sources_are_here() -> None:
    assert len(MODULES) > 100


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_holds_one_idea(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LINE_LIMIT, f"{lines} lines, the limit is {LINE_LIMIT}: split it"


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_a_package_only_re_exports(path: Path) -> None:
    if name_of(path) in LAZY:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = [
        node.name
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("__")
    ]
    assert defined == [], "definitions belong in a module of their own"
    exports = exports_of(path)
    if exports is not None:
        assert len(exports) == len(set(exports))


@pytest.mark.parametrize("path", PACKAGES, ids=name_of)
def test_every_package_documents_itself(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body, "a package says what it holds"
