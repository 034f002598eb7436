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
