"""Which earlier calls a call must come after: byte ranges that were read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tg_core.support.interval_map import IntervalMap

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


class _Reads(NamedTuple, Generic[D]):
    """A read, and those before it. Weights are read by all kernels of a batch: one more read must
    cost the same however many there are.
    """

    last: tuple[int, D]
    earlier: _Reads[D] | None


class _Past(NamedTuple, Generic[D]):
    """What was done to some bytes: the last write, and all reads after it, each with its turn."""

    write: tuple[int, D] | None
    reads: _Reads[D] | None


class DependencyTracker(Generic[D]):
    """Knows the accesses that later ones may depend on, per storage and byte."""

    def __init__(self) -> None:
        self._storage: dict[Hashable, IntervalMap[_Past[D]]] = {}
        self._turn = 0

    def access(self, ranges: Sequence[Range], written: Sequence[bool], access: D) -> list[D]:
        """Take note of an access to several ranges at once.

        Args:
            ranges: what is touched.
            written: for each, whether it is written; else it is read.
            access: what later accesses shall be told that they depend on.

        Returns:
            Earlier accesses that this one must come after, each once: for each range in turn writes
            before reads, each oldest first.
        """
        found: dict[D, None] = {}
        for part, write in zip(ranges, written, strict=True):
            past = self._past(part)
            self._collect({p.write for p in past if p.write is not None}, found)
            if write:
                self._collect(_all_reads(past), found)
        self._turn += 1
        for part, write in zip(ranges, written, strict=True):
            if part.start < part.end:
                self._note(part, write, (self._turn, access))
        return list(found)

    def _past(self, part: Range) -> list[_Past[D]]:
        known = self._storage.get(part.key)
        return known.overlapping(part.start, part.end) if known is not None else []

    @staticmethod
    def _collect(accesses: set[tuple[int, D]], found: dict[D, None]) -> None:
        for _, access in sorted(accesses, key=_turn_of):
            found.setdefault(access)

    def _note(self, part: Range, write: bool, access: tuple[int, D]) -> None:
        known = self._storage.get(part.key)
        if known is None:
            known = self._storage[part.key] = IntervalMap()
        if write:
            known.assign(part.start, part.end, _Past(access, None))
            return

        def read(past: _Past[D] | None) -> _Past[D]:
            if past is None:
                return _Past(None, _Reads(access, None))
            return _Past(past.write, _Reads(access, past.reads))

        known.update(part.start, part.end, read)


def _all_reads(past: Sequence[_Past[D]]) -> set[tuple[int, D]]:
    found: set[tuple[int, D]] = set()
    for part in past:
        reads = part.reads
        while reads is not None:
            found.add(reads.last)
            reads = reads.earlier
    return found


def _turn_of(access: tuple[int, D]) -> int:
    return access[0]
