"""What LLVM says of this machine, remembered on disk so that a process that compiles nothing
need not ask it.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from tg_core.backend import DiskCache

_cache = DiskCache("hosts")


class Host(NamedTuple):
    """The machine and the compiler for it."""

    triple: str
    """For example `x86_64-unknown-linux-gnu`."""
    cpu: str
    """LLVM's name of the processor, for example `znver3`."""
    features: str
    """`+avx2,-avx512f,...`"""
    compiler: str
    """Versions that determine the object code, for cache keys."""

    @property
    def feature_names(self) -> frozenset[str]:
        """Names of the features the host has (`avx2`, `fma`, `neon`...)."""
        return frozenset(name[1:] for name in self.features.split(",") if name.startswith("+"))


@cache
def host() -> Host:
    """Return the description of this machine."""
    key = _machine()
    data = _cache.get(key)
    if data is not None:
        try:
            return Host(*(str(part) for part in json.loads(data)))
        except (ValueError, TypeError):
            pass  # an entry of another version
    from tg_cpu import jit

    found = Host(*jit.host(), jit.version())
    _cache.put(key, json.dumps(list(found)).encode())
    return found


def _machine() -> bytes:
    """Return what the answer depends on: the processor, the wheel, and this package."""
    parts = ["|".join(os.uname()[i] for i in (0, 4)).encode()]
    try:
        processor = _read("/proc/cpuinfo").decode(errors="replace").split("\n\n")[0]
    except OSError:
        processor = ""
    lines = (
        line
        for line in processor.splitlines()
        if not line.startswith(("cpu MHz", "bogomips", "processor"))
    )
    parts.append("\n".join(lines).encode())
    spec = find_spec("llvmlite")
    if spec is not None and spec.origin:
        parts.append(spec.origin.encode())
        parts.append(_read(os.path.join(os.path.dirname(spec.origin), "_version.py")))
    parts.append(_read(os.path.join(os.path.dirname(__file__), "jit.py")))
    return b"\0".join(parts)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
