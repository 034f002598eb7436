"""The disk cache: whole entries or none, and trouble is a warning."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_core.config import Context
from tg_core.support import disk_cache
from tg_core.support.disk_cache import (
    DiskCache,
    cache_entries,
    cache_folder,
    clear_cache,
    folder_size,
    trim_cache,
    verify_cache,
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    disk_cache._warned.clear()
    with Context(TG_CACHE_DIR=str(tmp_path / "cache"), CACHE=1):
        yield
    disk_cache._warned.clear()


def entries() -> list[Path]:
    return [path for path in cache_folder().rglob("*") if path.is_file()]


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
        assert cache_folder().name == "tg"


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


def test_size_and_clear(tmp_path: Path) -> None:
    DiskCache("programs").put("a", b"12345")
    DiskCache("schedules").put("b", b"")
    files, nbytes = folder_size(cache_folder())
    assert files == 2
    assert nbytes > 5
    assert clear_cache() == (files, nbytes)
    assert folder_size(cache_folder()) == (0, 0)
    assert clear_cache() == (0, 0)


def test_clear_leaves_what_is_not_a_cache() -> None:
    DiskCache("programs").put("a", b"12345")
    mine = cache_folder() / "photos"
    mine.mkdir()
    (mine / "cat.jpg").write_bytes(b"cat")
    (cache_folder() / "letter.txt").write_text("dear")
    clear_cache()
    assert (mine / "cat.jpg").exists()
    assert (cache_folder() / "letter.txt").exists()


def test_the_oldest_entries_go_when_the_folder_is_too_large(tmp_path: Path) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), CACHE=1):
        cache = DiskCache("trimmed")
        for i in range(5):
            cache.put(f"k{i}", bytes(1000))
        for age, path in enumerate(sorted(cache_entries())):
            os.utime(path, (age, age))
        oldest = sorted(cache_entries())[:2]
        assert trim_cache(3500) == 2
        assert not any(path.exists() for path in oldest)
        assert sum(cache.get(f"k{i}") is not None for i in range(5)) == 3


def test_verify_finds_damage(tmp_path: Path) -> None:
    with Context(TG_CACHE_DIR=str(tmp_path), CACHE=1):
        cache = DiskCache("verified")
        for i in range(3):
            cache.put(f"k{i}", b"payload")
        victim = next(cache_entries())
        data = bytearray(victim.read_bytes())
        data[-1] ^= 1
        victim.write_bytes(data)
        assert verify_cache() == (2, [victim])
