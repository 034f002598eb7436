"""The tests of the suite, one module per level; run them with `tg-conformance`."""

from __future__ import annotations

__all__: list[str] = []
