"""What a device type needs from the machine, checked without loading the plugin's heavy parts."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys

from tg_core.support.frozen import frozen

__all__ = ["Need", "NeedsModule", "NeedsPath", "NeedsSystem"]


@frozen
class NeedsModule:
    """A Python module.

    Args:
        name: the importable name.
        distribution: what to install for it, where that is another name.
    """

    name: str
    distribution: str = ""

    def missing(self) -> str | None:
        """Return why the need is not met, with the pip line, or None."""
        try:
            found = self.name in sys.modules or importlib.util.find_spec(self.name) is not None
        except (ImportError, ValueError):
            found = False
        if found:
            return None
        return f"no Python module {self.name!r}: pip install {self.distribution or self.name}"


@frozen
class NeedsPath:
    """A file or device node this user may read and write.

    Args:
        path: the absolute path.
        hint: what to do when it is absent or closed to this user.
    """

    path: str
    hint: str = ""

    def missing(self) -> str | None:
        """Return why the need is not met, with the hint, or None."""
        tail = f": {self.hint}" if self.hint else ""
        if not os.path.exists(self.path):
            return f"{self.path} does not exist{tail}"
        if not os.access(self.path, os.R_OK | os.W_OK):
            return f"no permission to read and write {self.path}{tail}"
        return None


@frozen
class NeedsSystem:
    """An operating system, and optionally machine names, as `platform` reports them."""

    system: str
    machines: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Return why the need is not met, or None."""
        if platform.system() != self.system:
            return f"needs {self.system}, this is {platform.system()}"
        if self.machines and platform.machine() not in self.machines:
            return f"needs one of {', '.join(self.machines)}, this is {platform.machine()}"
        return None


Need = NeedsModule | NeedsPath | NeedsSystem
