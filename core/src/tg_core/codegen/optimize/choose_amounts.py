"""How many lanes, copies and chunks: arithmetic on sizes."""

from __future__ import annotations

from typing import Final

_MOST_CHUNKS: Final = 64
_CHUNK_WORK: Final = 1 << 14
# a second copy of the code for what a division leaves over has to be compiled, too
_REMAINDER_COST: Final = 8


def next_power_of_two(value: int) -> int:
    """Return the least power of two that is not below a positive value."""
    return 1 << (value - 1).bit_length()


def choose_lanes(size: int | None, native: int, most: int, latency: int = 1) -> int:
    """Return the number of lanes for a range; 0 for the whole of it.

    Args:
        size: the range's size, None when it is not constant.
        native: lanes of one register.
        most: greatest number of registers of one vector.
        latency: operations that a chain of dependent ones leaves room for: narrower vectors wait.
    """
    if size is None:
        return native * min(most, latency)
    if size <= native:
        return 0
    best, best_cost = native, float("inf")
    for lanes in range(native, min(size, native * most) + 1):
        whole, rest = divmod(size, lanes)
        if rest and lanes % native:
            continue
        # a vector takes as many registers as the next power of two; what is left over runs one by
        # one
        registers = next_power_of_two(lanes) / native
        cost = (whole * max(registers, latency) + rest * latency) / size
        # wider vectors save loop overhead, and give independent work
        cost += 0.05 * native / lanes / native
        if cost < best_cost:
            best, best_cost = lanes, cost
    return 0 if best == size else best


def choose_copies(size: int | None, most: int) -> int:
    """Return how many copies of a range to make, 1 for none; a divisor close to `most` if there is
    one.

    Args:
        size: the range's size, None when it is not constant.
        most: the greatest number.
    """
    if most < 2:
        return 1
    if size is None:
        return most
    if size <= most:
        return size
    best, best_cost = 1, float("inf")
    for copies in range(2, most + 1):
        whole, rest = divmod(size, copies)
        # one operand per copy and one shared by all of them, for each round
        cost = whole * (copies + 1.5) + rest * 2.5
        if rest:
            cost += _REMAINDER_COST
        if cost < best_cost:
            best, best_cost = copies, cost
    return best


def choose_tile(rows: int, columns: int, most: int, longest: int = 6) -> tuple[int, int]:
    """Return how many copies of two ranges to make, for a tile of which every copy shares its two
    operands.

    Args:
        rows: size of the first range.
        columns: size of the second range.
        most: the greatest number of copies in all.
        longest: the greatest number along one range.
    """
    best, best_cost = (1, 1), float("inf")
    for height in range(1, min(rows, longest) + 1):
        for width in range(1, min(columns, longest, most // height) + 1):
            cost = (
                _rounds(rows, height) * _rounds(columns, width) * (height * width + height + width)
            )
            if cost < best_cost:
                best, best_cost = (height, width), cost
    return best


def _rounds(size: int, copies: int) -> float:
    """Return how often a tile is computed along a range, what is left over included."""
    whole, rest = divmod(size, copies)
    return whole + 0.75 * rest + 1.5 if rest else whole


def choose_chunk(size: int, unit: int, work: int) -> int:
    """Return how many consecutive values one chunk has; `size` when dividing is not worth it.

    Depends on shape and target only, never on the number of threads, so that results do not.

    Args:
        size: the range's size.
        unit: the chunk should be a multiple of this (lanes or copies of the same range).
        work: weight of the whole kernel.
    """
    chunks = min(work // _CHUNK_WORK, _MOST_CHUNKS)
    if chunks < 2 or size < 2:
        return size
    wanted = max(-(-size // chunks), 1)
    rounded = min(-(-wanted // unit) * unit, size)
    for chunk in range(rounded, min(2 * rounded, size // 2) + 1, unit):
        if size % chunk == 0:
            return chunk
    if unit > 1 or rounded > 1:
        for chunk in range(rounded, max(rounded // 2, 1) - 1, -unit):
            if size % chunk == 0 and size // chunk <= 2 * _MOST_CHUNKS:
                return chunk
    return rounded
