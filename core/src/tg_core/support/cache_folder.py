"""The folder of all disk caches as a whole: what is in it, and being rid of it."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tg_core.support.disk_cache import NAME_DIGITS, TEMPORARY, cache_location, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "cache_entries",
    "cache_folder",
    "caches",
    "clear_cache",
    "folder_size",
    "trim_cache",
    "verify_cache",
]


_LEFT_OVER = 3600.0
"""Seconds after which an entry that is still being written belongs to a process that was killed."""


def cache_folder() -> Path | None:
    """Return the folder, whether it is there or not; None for a user without a home."""
    location = cache_location()
    return Path(location) if location else None


def folder_size(folder: Path) -> tuple[int, int]:
    """Return the number of files below a folder and their size in bytes; (0, 0) if it is absent."""
    files = 0
    nbytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                nbytes += os.stat(os.path.join(parent, name)).st_size
            except OSError:
                continue
            files += 1
    return files, nbytes


def cache_entries() -> Iterator[Path]:
    """Yield the files of all caches below `cache_folder`."""
    for cache in caches():
        for part in sorted(cache.iterdir()):
            yield from sorted(p for p in part.iterdir() if not p.name.startswith(TEMPORARY))


def verify_cache() -> tuple[int, list[Path]]:
    """Return how many entries are whole, and the damaged ones."""
    whole = 0
    damaged = []
    for path in cache_entries():
        if is_whole(path.read_bytes()):
            whole += 1
        else:
            damaged.append(path)
    return whole, damaged


def trim_cache(limit: int) -> int:
    """Remove the entries that were stored first until the rest fits; returns how many went.

    Args:
        limit: in bytes.
    """
    found = []
    for path in cache_entries():
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((status.st_mtime_ns, status.st_size, path))
    _remove_left_over()
    excess = sum(size for _, size, _ in found) - limit
    removed = 0
    for _, size, path in sorted(found):
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size
        removed += 1
    return removed


def _remove_left_over() -> None:
    """Remove what processes were writing that were killed."""
    oldest = time.time() - _LEFT_OVER
    for cache in caches():
        for path in cache.glob(f"*/{TEMPORARY}*"):
            try:
                if path.stat().st_mtime < oldest:
                    path.unlink()
            except OSError:
                continue  # its process ended just now, after all


def clear_cache() -> tuple[int, int]:
    """Remove every cache below `cache_folder`; returns how many files went, and their bytes.

    Raises:
        OSError: a folder cannot be removed.
    """
    files = 0
    nbytes = 0
    for cache in caches():
        count, size = folder_size(cache)
        shutil.rmtree(cache)
        files += count
        nbytes += size
    return files, nbytes


def caches() -> Iterator[Path]:
    """Yield the folders of caches below `cache_folder`: those with something in them, all of which
    is laid out and named as `DiskCache` does, should `TG_CACHE_DIR` hold anything else.
    """
    folder = cache_folder()
    if folder is not None and folder.is_dir():
        yield from (child for child in sorted(folder.iterdir()) if _is_cache(child))


def _is_cache(folder: Path) -> bool:
    try:
        parts = [*folder.iterdir()] if folder.is_dir() and not folder.is_symlink() else []
        return bool(parts) and all(
            _is_hex(part.name, 2) and part.is_dir() and all(map(_is_entry, part.iterdir()))
            for part in parts
        )
    except OSError:
        return False  # what this user may not read is not this user's cache


def _is_entry(path: Path) -> bool:
    return path.name.startswith(TEMPORARY) or _is_hex(path.name, NAME_DIGITS - 2)


def _is_hex(name: str, digits: int) -> bool:
    return len(name) == digits and set(name) <= set("0123456789abcdef")
