"""Values of ranges of numbers that do not overlap, found by bisection."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["IntervalMap"]

V = TypeVar("V")


class IntervalMap(Generic[V]):
    """A value for each of some ranges `[start, end)`.

    Ranges are cut where others begin or end; the parts keep the value, so values do not change.
    """

    __slots__ = ("_ends", "_starts", "_values")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._values: list[V] = []

    def __len__(self) -> int:
        return len(self._starts)

    def overlapping(self, start: int, end: int) -> list[V]:
        """Return the values of the ranges that have numbers between `start` and `end`, in order."""
        first, last = self._between(start, end)
        return self._values[first:last]

    def assign(self, start: int, end: int, value: V) -> None:
        """Give a range one value, in place of all that it covers."""
        self._replace(start, end, [(start, end, value)])

    def remove(self, start: int, end: int) -> None:
        """Leave a range without a value."""
        self._replace(start, end, [])

    def update(self, start: int, end: int, change: Callable[[V | None], V]) -> None:
        """Change the values of a range.

        Args:
            start: the first number.
            end: the first one after it.
            change: from the value of a part to its new value; None is where there was none.
        """
        first, last = self._between(start, end)
        if last - first == 1 and self._starts[first] == start and self._ends[first] == end:
            self._values[first] = change(self._values[first])
            return
        inside: list[tuple[int, int, V]] = []
        at = start
        for position in range(first, last):
            low = max(self._starts[position], start)
            high = min(self._ends[position], end)
            if at < low:
                inside.append((at, low, change(None)))
            inside.append((low, high, change(self._values[position])))
            at = high
        if at < end:
            inside.append((at, end, change(None)))
        self._replace(start, end, inside)

    def _between(self, start: int, end: int) -> tuple[int, int]:
        """Return the positions of the ranges that have numbers between two."""
        return bisect_left(self._ends, start + 1), bisect_left(self._starts, end)

    def _replace(self, start: int, end: int, inside: list[tuple[int, int, V]]) -> None:
        first, last = self._between(start, end)
        parts = inside
        if first < last:
            if self._starts[first] < start:
                parts = [(self._starts[first], start, self._values[first]), *parts]
            if end < self._ends[last - 1]:
                parts = [*parts, (end, self._ends[last - 1], self._values[last - 1])]
        self._starts[first:last] = [part[0] for part in parts]
        self._ends[first:last] = [part[1] for part in parts]
        self._values[first:last] = [part[2] for part in parts]
