"""A cache of byte strings on disk that never stands in the way.

An entry is written under a temporary name and renamed, with a checksum, so that readers see a whole
entry or none, whoever writes at the same time. Whatever goes wrong with the folder (read-only,
full, damaged) is a warning, once, and a miss.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tg_core.config import CACHE, CACHE_LIMIT_MB, TG_CACHE_DIR

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DiskCache",
    "cache_entries",
    "cache_folder",
    "clear_cache",
    "folder_size",
    "trim_cache",
    "verify_cache",
]

_MAGIC = b"tgc1"
_DIGEST_BYTES = 32
_TRIM_EVERY = 16 << 20
"""Bytes a process stores between two looks at the size of the folder."""
_warned: set[str] = set()


def cache_folder() -> Path:
    """Return the folder of all disk caches: `TG_CACHE_DIR`, else the user's cache folder."""
    if TG_CACHE_DIR.value:
        return Path(TG_CACHE_DIR.value)
    # platformdirs is only needed where the folder is not given.
    import platformdirs

    return Path(platformdirs.user_cache_dir("tg"))


class DiskCache:
    """One cache, a folder of its own below `cache_folder`.

    Args:
        name: the name of the folder.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._stored = 0

    def get(self, key: bytes | str) -> bytes | None:
        """Return what was stored under a key, or None."""
        if not CACHE:
            return None
        path = self._path(key)
        try:
            entry = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn("read", path, error.strerror or str(error))
            return None
        start = len(_MAGIC) + _DIGEST_BYTES
        payload = entry[start:]
        if entry[:start] != _MAGIC + hashlib.sha256(payload).digest():
            _warn("read", path, "the entry is damaged")
            self._remove(path)
            return None
        return payload

    def put(self, key: bytes | str, payload: bytes) -> None:
        """Store bytes under a key."""
        if not CACHE:
            return
        path = self._path(key)
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            import tempfile

            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
            self._stored += len(payload)
            if self._stored > _TRIM_EVERY:
                self._stored = 0
                trim_cache(CACHE_LIMIT_MB.value << 20)
        except OSError as error:
            _warn("write", path, error.strerror or str(error))
            if temporary:
                self._remove(Path(temporary))

    def _path(self, key: bytes | str) -> Path:
        text = key.encode() if isinstance(key, str) else key
        name = hashlib.sha256(text).hexdigest()
        # Two levels, so that no folder grows to where listing it is slow.
        return cache_folder() / self.name / name[:2] / name[2:]

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            _warn("remove", path, error.strerror or str(error))


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
    if not folder.is_dir():
        return
    for child in sorted(folder.iterdir()):
        if child.is_dir() and _is_cache(child):
            for part in sorted(child.iterdir()):
                yield from sorted(p for p in part.iterdir() if not p.name.startswith(".new-"))


def verify_cache() -> tuple[int, list[Path]]:
    """Return how many entries are whole, and the damaged ones."""
    whole = 0
    damaged = []
    start = len(_MAGIC) + _DIGEST_BYTES
    for path in cache_entries():
        entry = path.read_bytes()
        if entry[:start] == _MAGIC + hashlib.sha256(entry[start:]).digest():
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
    if not folder.is_dir():
        return 0, 0
    for child in sorted(folder.iterdir()):
        if child.is_dir() and _is_cache(child):
            count, size = folder_size(child)
            import shutil

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


def _warn(action: str, path: Path, reason: str) -> None:
    """Warn once per kind of trouble: a broken cache slows down, it does not fail."""
    if action in _warned:
        return
    _warned.add(action)
    warnings.warn(
        f"disk cache: cannot {action} {path}: {reason}; going on without (CACHE=0 turns it off, "
        "TG_CACHE_DIR moves it, `tg cache clear` empties it)",
        stacklevel=3,
    )
