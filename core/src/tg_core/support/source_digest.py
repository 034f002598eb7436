"""A digest of installed sources, so that caches do not outlive the code that filled them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path


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
        files = sorted(f for folder in folders for f in Path(folder).rglob("*.py"))
        if spec is not None and not folders and spec.has_location and spec.origin:
            files = [Path(spec.origin)]
        for file in files:
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
