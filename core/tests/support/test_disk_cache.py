"""The disk cache: whole entries or none, and trouble is a warning."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_core.config import Context
from tg_core.support import disk_cache
from tg_core.support.disk_cache import DiskCache, cache_location


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    disk_cache._warned.clear()
    with Context(TG_CACHE_DIR=str(tmp_path / "cache"), CACHE=1):
        yield
    disk_cache._warned.clear()


def entries() -> list[Path]:
    return [path for path in Path(cache_location()).rglob("*") if path.is_file()]


def test_round_trip() -> None:
    cache = DiskCache("programs")
    assert cache.get("key") is None
    cache.put("key", b"value")
    assert cache.get("key") == b"value"
    assert cache.get(b"key") == b"value"
    assert cache.get("other") is None
    assert DiskCache("schedules").get("key") is None
    cache.put("key", b"")
    assert cache.get("key") == b""
    assert len(entries()) == 1


def test_default_folder_is_the_users() -> None:
    with Context(TG_CACHE_DIR=""):
        assert Path(cache_location()).name == "tg"


def test_off() -> None:
    with Context(CACHE=0):
        DiskCache("programs").put("key", b"value")
        assert DiskCache("programs").get("key") is None
    assert DiskCache("programs").get("key") is None


@pytest.mark.parametrize("damage", [b"", b"tgc1", b"garbage" * 20])
def test_damaged_entry_is_a_warning_and_a_miss(damage: bytes) -> None:
    cache = DiskCache("programs")
    cache.put("key", b"value")
    entries()[0].write_bytes(damage)
    with pytest.warns(UserWarning, match="the entry is damaged"):
        assert cache.get("key") is None
    assert entries() == []
    cache.put("key", b"value")
    assert cache.get("key") == b"value"


def test_one_flipped_bit_is_found() -> None:
    cache = DiskCache("programs")
    cache.put("key", b"value")
    path = entries()[0]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.get("key") is None


def test_a_folder_that_cannot_be_made_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with Context(TG_CACHE_DIR=str(tmp_path / "file")):
        cache = DiskCache("programs")
        with pytest.warns(UserWarning, match="cannot write .* going on without"):
            cache.put("a", b"1")
        cache.put("b", b"2")  # a second warning would be an error
        with pytest.warns(UserWarning, match="cannot read"):
            assert cache.get("a") is None


def test_a_failed_write_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space left"):
        DiskCache("programs").put("key", b"value")
    assert entries() == []


def test_writers_at_the_same_time() -> None:
    cache = DiskCache("programs")

    def write(payload: bytes) -> None:
        for _ in range(50):
            cache.put("key", payload)
            assert cache.get("key") in (b"a" * 5000, b"b" * 5000)

    threads = [threading.Thread(target=write, args=(letter * 5000,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries()) == 1


def test_relative_xdg_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/someone")
    with Context(TG_CACHE_DIR=""):
        monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
        assert cache_location() == "/var/caches/tg"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert cache_location() == "/home/someone/.cache/tg"
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        assert cache_location() == "/home/someone/.cache/tg"


def test_user_without_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os.path, "expanduser", _unchanged)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    with Context(TG_CACHE_DIR=""):
        assert cache_location() == ""
        with pytest.warns(UserWarning, match="this user has no home"):
            DiskCache("programs").put("key", b"value")
        assert DiskCache("programs").get("key") is None
    assert list(tmp_path.iterdir()) == []


def _unchanged(path: str) -> str:
    return path


def test_home_in_the_name_of_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    with Context(TG_CACHE_DIR="~/caches"):
        assert cache_location() == "/home/someone/caches"


def test_impossible_name_is_a_warning() -> None:
    with Context(TG_CACHE_DIR="a\0b"), pytest.warns(UserWarning, match="cannot read"):
        assert DiskCache("programs").get("key") is None
