"""The folder of all caches: sizes, trimming, checking and clearing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tg_core.config import Context
from tg_core.support.cache_folder import (
    cache_entries,
    cache_folder,
    caches,
    clear_cache,
    folder_size,
    trim_cache,
    verify_cache,
)
from tg_core.support.disk_cache import DiskCache


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with Context(TG_CACHE_DIR=str(tmp_path / "cache"), CACHE=1):
        yield tmp_path / "cache"


def test_size_and_clear(folder: Path) -> None:
    DiskCache("programs").put("a", b"12345")
    DiskCache("schedules").put("b", b"")
    files, nbytes = folder_size(folder)
    assert files == 2
    assert nbytes > 5
    assert clear_cache() == (files, nbytes)
    assert folder_size(folder) == (0, 0)
    assert clear_cache() == (0, 0)


def test_clear_leaves_what_is_not_a_cache(folder: Path) -> None:
    DiskCache("programs").put("a", b"12345")
    mine = folder / "photos"
    mine.mkdir()
    (mine / "cat.jpg").write_bytes(b"cat")
    (folder / "letter.txt").write_text("dear")
    clear_cache()
    assert (mine / "cat.jpg").exists()
    assert (folder / "letter.txt").exists()


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


def test_clear_leaves_folders_that_look_alike(folder: Path) -> None:
    (folder / "empty").mkdir(parents=True)
    (folder / "objects" / "ab").mkdir(parents=True)
    (folder / "objects" / "ab" / ("c" * 38)).write_bytes(b"an object of git")
    (folder / "link").symlink_to(folder / "objects")
    (folder / "letters").mkdir()
    (folder / "letters" / "ab").write_text("no folder")
    assert list(caches()) == []
    assert clear_cache() == (0, 0)
    kept = sorted(path.name for path in folder.iterdir())
    assert kept == ["empty", "letters", "link", "objects"]
    assert (folder / "objects" / "ab" / ("c" * 38)).exists()


def test_what_killed_writers_left_goes(folder: Path) -> None:
    DiskCache("programs").put("a", b"12345")
    (entry,) = cache_entries()
    old, fresh = entry.parent / ".new-old", entry.parent / ".new-fresh"
    for path in (old, fresh):
        path.write_bytes(b"12")
    os.utime(old, (1, 1))
    assert trim_cache(1 << 20) == 0
    assert sorted(entry.parent.iterdir()) == sorted((entry, fresh))
    assert list(caches()) == [folder / "programs"]


def test_nothing_to_do_for_a_user_without_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tg_core.support.cache_folder.cache_location", str)
    assert cache_folder() is None
    assert list(cache_entries()) == []
    assert clear_cache() == (0, 0)
    assert verify_cache() == (0, [])
