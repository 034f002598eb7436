"""A cache of byte strings on disk that never stands in the way.

An entry is written under a temporary name and renamed, with a checksum, so that readers see a whole
entry or none, whoever writes at the same time. Whatever goes wrong with the folder (read-only,
full, damaged, nowhere to put it) is a warning, once, and a miss.
"""

# every process that computes anything reads entries, so it goes without the comfort of `pathlib`

from __future__ import annotations

import os
import sys
import warnings

from tg_core.config import CACHE, CACHE_LIMIT_MB, TG_CACHE_DIR
from tg_core.support.digest import blake2b

__all__ = ["DiskCache", "cache_location", "is_whole"]

_MAGIC = b"tgc2"
_DIGEST_BYTES = 32
_START = len(_MAGIC) + _DIGEST_BYTES
"""Where the payload begins, after its digest."""
NAME_DIGITS = 2 * _DIGEST_BYTES
"""Length of the name of an entry, of which the first two are a folder."""
TEMPORARY = ".new-"
"""How the name of an entry begins that is being written."""
_TRIM_EVERY = 16 << 20
"""Bytes a process stores between two looks at the size of the folder."""
_warned: set[str] = set()


def cache_location() -> str:
    """Return the folder of all disk caches: `TG_CACHE_DIR`, else in the user's cache folder. It is
    the empty string for a user without a home.

    Source: XDG Base Directory Specification 0.8: `XDG_CACHE_HOME`, of which a relative path is
        ignored.
    """
    if TG_CACHE_DIR.value:
        return os.path.expanduser(TG_CACHE_DIR.value)
    if not sys.platform.startswith("linux"):
        import platformdirs

        return platformdirs.user_cache_dir("tg", appauthor=False)
    named = os.environ.get("XDG_CACHE_HOME", "")
    folder = named if os.path.isabs(named) else os.path.expanduser("~/.cache")
    return os.path.join(folder, "tg") if os.path.isabs(folder) else ""


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def is_whole(entry: bytes) -> bool:
    """Tell whether the content of a file is an entry with its own checksum."""
    return entry[:_START] == _MAGIC + _digest(entry[_START:])


class DiskCache:
    """One cache, a folder of its own below `cache_location`.

    Args:
        name: the name of the folder.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._stored = 0

    def get(self, key: bytes | str) -> bytes | None:
        """Return what was stored under a key, or None."""
        path = self._path(key) if CACHE else ""
        if not path:
            return None
        try:
            with open(path, "rb", buffering=0) as file:
                entry = file.read()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _warn("read", path, error)
            return None
        if not is_whole(entry):
            _warn("read", path, "the entry is damaged")
            self._remove(path)
            return None
        return entry[_START:]

    def put(self, key: bytes | str, payload: bytes) -> None:
        """Store bytes under a key."""
        path = self._path(key) if CACHE else ""
        if not path:
            return
        folder = os.path.dirname(path)
        temporary = ""
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            import tempfile

            descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=TEMPORARY)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_MAGIC + _digest(payload) + payload)
            os.replace(temporary, path)
            self._stored += len(payload)
            if self._stored > _TRIM_EVERY:
                self._stored = 0
                from tg_core.support.cache_folder import trim_cache

                trim_cache(CACHE_LIMIT_MB.value << 20)
        except (OSError, ValueError) as error:
            _warn("write", path, error)
            if temporary:
                self._remove(temporary)

    def _path(self, key: bytes | str) -> str:
        """Return the file of a key, the empty string where there is no place for it."""
        location = cache_location()
        if not location:
            _warn("use", "the user's cache folder", "this user has no home")
            return ""
        text = key.encode() if isinstance(key, str) else key
        name = _digest(text).hex()
        # Two levels, so that no folder grows to where listing it is slow.
        return os.path.join(location, self.name, name[:2], name[2:])

    def _remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            _warn("remove", path, error)


def _warn(action: str, path: str, reason: str | Exception) -> None:
    """Warn once per kind of trouble: a broken cache slows down, it does not fail."""
    if action in _warned:
        return
    _warned.add(action)
    if isinstance(reason, OSError):
        reason = reason.strerror or str(reason)
    warnings.warn(
        f"disk cache: cannot {action} {path}: {reason}; going on without (CACHE=0 turns it off, "
        "TG_CACHE_DIR moves it, `tg cache clear` empties it)",
        stacklevel=3,
    )
