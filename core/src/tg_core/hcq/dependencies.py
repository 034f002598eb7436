"""Which earlier calls a call must come after: byte ranges that were read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["DependencyTracker", "Range"]

D = TypeVar("D")


class Range(NamedTuple):
    """Bytes of some storage."""

    key: Hashable
    """The storage: views of one memory share it."""
    start: int
    end: int


class DependencyTracker(Generic[D]):
    """Knows the accesses that later ones may depend on, per storage and byte."""

    def __init__(self) -> None:
        self._writes: dict[Hashable, list[tuple[int, int, D]]] = {}
        self._reads: dict[Hashable, list[tuple[int, int, D]]] = {}

    def access(self, ranges: Sequence[Range], written: Sequence[bool], access: D) -> list[D]:
        """Take note of an access to several ranges at once.

        Args:
            ranges: what is touched.
            written: for each, whether it is written; else it is read.
            access: what later accesses shall be told that they depend on.

        Returns:
            Earlier accesses that this one must come after, each once, oldest mention first.
        """
        found: dict[D, None] = {}
        for part, write in zip(ranges, written, strict=True):
            self._collect(self._writes, part, found)
            if write:
                self._collect(self._reads, part, found)
        for part, write in zip(ranges, written, strict=True):
            if write:
                self._cut(self._writes, part)
                self._cut(self._reads, part)
            table = self._writes if write else self._reads
            table.setdefault(part.key, []).append((part.start, part.end, access))
        return list(found)

    @staticmethod
    def _collect(
        table: dict[Hashable, list[tuple[int, int, D]]], part: Range, found: dict[D, None]
    ) -> None:
        for start, end, access in table.get(part.key, ()):
            if start < part.end and part.start < end:
                found.setdefault(access)

    @staticmethod
    def _cut(table: dict[Hashable, list[tuple[int, int, D]]], part: Range) -> None:
        """Remove the bytes of a range from older entries, which keep what is left and right."""
        entries = table.get(part.key)
        if not entries:
            return
        kept: list[tuple[int, int, D]] = []
        for start, end, access in entries:
            if start >= part.end or part.start >= end:
                kept.append((start, end, access))
                continue
            if start < part.start:
                kept.append((start, part.start, access))
            if part.end < end:
                kept.append((part.end, end, access))
        table[part.key] = kept
