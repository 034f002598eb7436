"""A conformance suite any backend of tg-core runs against itself."""

from __future__ import annotations

__all__: list[str] = []
