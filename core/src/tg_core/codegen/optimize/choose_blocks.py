"""How large the blocks of a packed product are: arithmetic on sizes.

A model in cycles of a core that starts two vector operations per cycle. Like every choice, it is a
function of shape and target alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PANEL_BYTES: Final = 1 << 14
"""A panel of columns stays in the first cache while rows stream past it: half of 32 KiB."""
_LATENCY: Final = 4
"""Cycles of a fused multiply-add."""
_LOAD: Final = 0.5
"""Of the cycles that loads take, what is not hidden behind arithmetic."""
_COPY: Final = 1.2
"""Cycles to pack an element alone."""
_PIECE: Final = 16
"""Cycles to begin reading a piece of a row somewhere else."""
_RELOAD: Final = 0.5
"""Cycles per element and block of the reduction to update the block of results."""
_CORES: Final = 8
"""Blocks should occupy this many cores evenly."""
_CORE_WORK: Final = 1 << 19
"""Multiplications that are worth waking a core for."""
_TALLEST: Final = 14
_FEW_PARTS: Final = 8
"""Up to this many blocks along one side, every number of them is tried."""


@dataclass(frozen=True)
class Shape:
    """What is multiplied."""

    batch: int
    rows: int
    columns: int
    depth: int
    """Elements of the reduction."""
    itemsize: int
    lanes: int
    """Values of one vector register."""
    registers: int
    row_group: int
    """Neighbouring rows that packing moves at once; 0 where rows are not packed."""
    column_group: int
    """Neighbouring columns that packing moves at once."""
    in_pieces: bool = False
    """Whether columns lie next to each other, so that a chunk reads a piece of each row."""


@dataclass(frozen=True)
class Blocks:
    """The sizes of a packed product."""

    tile_rows: int
    tile_columns: int
    rows: int
    """Rows of one chunk, a multiple of the tile's."""
    columns: int
    depth: int
    """Elements of the reduction that are packed at a time."""
    cost: float
    """Cycles of the whole product on one core."""

    def scratch(self, itemsize: int) -> int:
        """Return the bytes of packed operands and results."""
        elements = (self.rows + self.columns) * self.depth + self.rows * self.columns
        return elements * itemsize


def _tiles(shape: Shape) -> Iterator[tuple[int, int, float]]:
    """Yield height, width and cycles per element of the reduction of all tiles."""
    for vectors in (1, 2, 4):
        for height in range(1, _TALLEST + 1):
            # the accumulators, the columns, one row broadcast
            if height * vectors + vectors + 1 > shape.registers:
                break
            width = vectors * shape.lanes
            count = math.ceil(shape.rows / height) * math.ceil(shape.columns / width)
            loads = (height + vectors) / 2
            busy = max(height * vectors / 2, loads, _LATENCY)
            yield height, width, count * (busy + _LOAD * loads)


def _choose_tile(shape: Shape) -> tuple[int, int, float]:
    return min(_tiles(shape), key=_tile_order)


def _tile_order(tile: tuple[int, int, float]) -> tuple[float, int]:
    # among equals, the squarer tile needs fewer loads
    height, width, cycles = tile
    return cycles, -height * width


def choose_depth(size: int, width: int, itemsize: int) -> int:
    """Return how many elements of a reduction to pack at a time.

    Args:
        size: elements of the reduction.
        width: columns of a tile.
        itemsize: bytes of an element.
    """
    most = max(_PANEL_BYTES // (width * itemsize), 1)
    if size <= most * 3 // 2:
        return size
    blocks = math.ceil(size / most)
    for count in range(max(blocks - 1, 1), blocks + 3):
        if size % count == 0 and size // count <= most * 3 // 2:
            return size // count
    return math.ceil(size / blocks)


def _divisions(size: int, unit: int) -> Iterator[int]:
    """Yield sizes of blocks, multiples of the unit, that divide a size about evenly."""
    units = math.ceil(size / unit)
    seen, parts = 0, 1
    while parts <= units:
        block = math.ceil(units / parts) * unit
        if block != seen:
            yield block
        seen = block
        # then four numbers in every doubling
        parts += 1 if parts < _FEW_PARTS else 1 << (parts.bit_length() - 3)


def _packing(group: int) -> float:
    return _COPY / group + 0.15 if group else 0.0


def choose_blocks(shape: Shape, unit: int, divided: int, scratch: int) -> Blocks | None:
    """Return the sizes with the least cost, None where nothing fits the scratch memory.

    Args:
        shape: what is multiplied.
        unit: elements of the reduction that are packed together at least.
        divided: size of the reduce loop that is divided into blocks; each of its values has
            `unit` elements.
        scratch: bytes there are for packed operands and results.
    """
    height, width, cycles = _choose_tile(shape)
    depth = unit * choose_depth(divided, width * unit, shape.itemsize)
    work = shape.batch * shape.rows * shape.columns * shape.depth
    cores = max(1, min(_CORES, work // _CORE_WORK))
    reloads = math.ceil(shape.depth / depth) * _RELOAD
    arithmetic = cycles * shape.depth + reloads * shape.rows * shape.columns
    best: tuple[float, Blocks] | None = None
    for rows in _divisions(shape.rows, height):
        for columns in _divisions(shape.columns, width):
            chunks = (math.ceil(shape.rows / rows), math.ceil(shape.columns / columns))
            packed = chunks[1] * shape.rows * _packing(shape.row_group)
            packed += chunks[0] * shape.columns * _packing(shape.column_group)
            packed += math.prod(chunks) * _PIECE if shape.in_pieces else 0
            cost = shape.batch * (arithmetic + packed * shape.depth)
            blocks = Blocks(height, width, rows, columns, depth, cost)
            if blocks.scratch(shape.itemsize) > scratch:
                continue
            count = shape.batch * math.prod(chunks)
            waiting = math.ceil(count / cores) * cores / count
            if best is None or cost * waiting < best[0]:
                best = (cost * waiting, blocks)
    return None if best is None else best[1]
