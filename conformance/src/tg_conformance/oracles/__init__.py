"""What results must be, computed without the code under test: plain Python and numpy."""

from __future__ import annotations

__all__: list[str] = []
