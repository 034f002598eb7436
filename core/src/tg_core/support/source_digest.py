"""A digest of installed sources, so that caches do not outlive the code that filled them."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def source_digest(*names: str) -> str:
    """Return a digest of all Python files of modules and packages, without importing them.

    Args:
        names: dotted names; a module that is no package counts with its own file, a missing one not
            at all.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(names):
        spec = find_spec(name)
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        files = sorted(file for folder in folders for file in _python_files(folder))
        if spec is not None and not folders and spec.has_location and spec.origin:
            files = [spec.origin]
        for file in files:
            digest.update(os.path.basename(file).encode())
            with open(file, "rb", buffering=0) as opened:
                digest.update(opened.read())
    return digest.hexdigest()


def _python_files(folder: str) -> Iterator[str]:
    # every process that computes anything does this, so it goes without the comfort of `pathlib`
    for place, folders, files in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        yield from [os.path.join(place, file) for file in files if file.endswith(".py")]
