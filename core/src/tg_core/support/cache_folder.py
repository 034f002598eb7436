"""The folder of all disk caches as a whole: what is in it, and being rid of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tg_core.support.disk_cache import cache_location, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "cache_entries",
    "cache_folder",
    "clear_cache",
    "folder_size",
    "trim_cache",
    "verify_cache",
]


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
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir() and _is_cache(child):
            for part in sorted(child.iterdir()):
                yield from sorted(p for p in part.iterdir() if not p.name.startswith(".new-"))


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
    excess = sum(size for _, size, _ in found) - limit
    removed = 0
    for _, size, path in sorted(found):
        if excess <= 0:
            break
        path.unlink(missing_ok=True)
        excess -= size
        removed += 1
    return removed


def clear_cache() -> tuple[int, int]:
    """Remove every cache below `cache_folder`; returns how many files went, and their bytes.

    Only folders that this project makes are removed, should the folder hold anything else.

    Raises:
        OSError: a folder cannot be removed.
    """
    files = 0
    nbytes = 0
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return 0, 0
    for child in sorted(folder.iterdir()):
        if child.is_dir() and _is_cache(child):
            count, size = folder_size(child)
            shutil.rmtree(child)
            files += count
            nbytes += size
    return files, nbytes


def _is_cache(folder: Path) -> bool:
    """Tell whether everything in a folder is laid out as `DiskCache` does."""
    return all(
        child.is_dir() and len(child.name) == 2 and set(child.name) <= set("0123456789abcdef")
        for child in folder.iterdir()
    )
