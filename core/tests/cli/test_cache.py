"""`tg cache`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tg_core.cli import main
from tg_core.config import Context
from tg_core.support.disk_cache import DiskCache


def test_path_and_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), CACHE=1):
        assert main(["cache", "path"]) == 0
        assert capsys.readouterr().out == f"{tmp_path}\n"
        DiskCache("programs").put("key", b"x" * 964)
        assert main(["cache", "clear"]) == 0
        assert capsys.readouterr().out == f"removed 1 entries (1.00 KB) from {tmp_path}\n"
        assert DiskCache("programs").get("key") is None
        assert main(["cache", "clear"]) == 0
        assert "removed 0 entries" in capsys.readouterr().out


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cache"])
    assert "ACTION" in capsys.readouterr().err


def test_show_and_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), CACHE=1):
        cache = DiskCache("programs")
        cache.put("key", b"x" * 964)
        assert main(["cache", "show"]) == 0
        assert "programs" in capsys.readouterr().out
        assert main(["cache", "verify"]) == 0
        (entry,) = (p for p in (tmp_path / "programs").rglob("*") if p.is_file())
        entry.write_bytes(entry.read_bytes()[:-1])
        assert main(["cache", "verify"]) == 1
        assert "1 were damaged" in capsys.readouterr().out
        assert cache.get("key") is None
