"""Digests of installed sources."""

from __future__ import annotations

import builtins
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_core.config import Context
from tg_core.support import source_digest as module
from tg_core.support.source_digest import source_digest


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    with Context(TG_CACHE_DIR=str(tmp_path / "cache"), CACHE=1):
        yield


def digest(*names: str) -> str:
    """Digest anew, as another process would."""
    source_digest.cache_clear()
    module._digest_of.cache_clear()
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


def test_unchanged_files_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    source = tmp_path / "settled.py"
    source.write_text("a = 1\n")
    monkeypatch.setattr(time, "time", lambda: os.stat(source).st_ctime + 3)
    first = digest("settled")
    opened: list[str] = []
    ordinary = builtins.open

    def noted(file: str, *rest: object, **named: object) -> object:
        opened.append(str(file))
        return ordinary(file, *rest, **named)  # type: ignore[call-overload]  # passed on

    monkeypatch.setattr(builtins, "open", noted)
    assert digest("settled") == first
    assert str(source) not in opened
    # equal size, and a time of writing that was put back
    written = os.stat(source).st_mtime_ns
    time.sleep(0.02)
    source.write_text("a = 2\n")
    os.utime(source, ns=(written, written))
    assert digest("settled") != first


def test_files_that_changed_just_now_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "fresh.py").write_text("a = 1\n")
    digest("fresh")
    assert not (tmp_path / "cache").exists()
