"""A digest of installed sources, so that caches do not outlive the code that filled them."""

from __future__ import annotations

import os
import time
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tg_core.support.digest import blake2b
from tg_core.support.disk_cache import DiskCache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_known = DiskCache("sources")
"""Digests by the state of the files: every process that computes anything needs some, and reading
all sources takes ten times as long as asking whether they changed.
"""
_SETTLED = 2.0
"""Seconds after a change before the state of a file is trusted: clocks of file systems are coarse,
and a second change must show.
"""


@cache
def source_digest(*names: str) -> str:
    """Return a digest of all Python files of modules and packages, without importing them.

    Args:
        names: dotted names; a module that is no package counts with its own file, a missing one not
            at all.
    """
    digest = blake2b(digest_size=16)
    for name in sorted(names):
        digest.update(_digest_of(name))
    return digest.hexdigest()


@cache
def _digest_of(name: str) -> bytes:
    """Return the digest of one module or package."""
    spec = find_spec(name)
    if spec is None:
        return b""
    files = sorted(_python_files(spec.submodule_search_locations or ()))
    if not files and spec.has_location and spec.origin:
        files = [spec.origin]
    if not files:
        return b""
    state, newest = _state_of(files)
    found = _known.get(state)
    if found is not None:
        return found
    digest = blake2b(digest_size=16)
    for file in files:
        digest.update(os.path.basename(file).encode())
        with open(file, "rb", buffering=0) as opened:
            digest.update(opened.read())
    if newest < time.time() - _SETTLED:
        _known.put(state, digest.digest())
    return digest.digest()


def _state_of(files: Iterable[str]) -> tuple[str, float]:
    """Return what changes when the content of a file does, and the time of the last change in
    seconds since the epoch. Unlike the time of the last write, which some installers give all
    files, that one cannot be set.
    """
    parts, newest = [], 0.0
    for file in files:
        found = os.stat(file)
        times = f"{found.st_mtime_ns} {found.st_ctime_ns}"
        parts.append(f"{file}\0{found.st_ino} {found.st_size} {times}")
        newest = max(newest, found.st_mtime, found.st_ctime)
    return "\0".join(parts), newest


def _python_files(folders: Iterable[str]) -> Iterator[str]:
    pending = list(folders)
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    yield entry.path
                elif entry.name != "__pycache__" and entry.is_dir():
                    pending.append(entry.path)
