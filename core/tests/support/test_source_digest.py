"""Digests of installed sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tg_core.support.source_digest import source_digest


def digest(*names: str) -> str:
    """Digest anew, as another process would."""
    source_digest.cache_clear()
    return source_digest(*names)


def test_it_follows_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "digested"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "deep" / "part.py").write_text("a = 1\n")
    (tmp_path / "single.py").write_text("b = 1\n")
    first = digest("digested", "single")
    assert digest("single", "digested") == first
    assert digest("digested") != first
    (package / "deep" / "part.py").write_text("a = 2\n")
    second = digest("digested", "single")
    assert second != first
    (tmp_path / "single.py").write_text("b = 2\n")
    assert digest("digested", "single") != second
    assert "digested" not in sys.modules


def test_modules_without_files_and_missing_ones() -> None:
    assert digest("sys", "no_such_module_") == digest()
