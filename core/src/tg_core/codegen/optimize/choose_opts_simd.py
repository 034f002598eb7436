"""Heuristics for processors with vector registers and threads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.analyze_kernel import Kernel, Nest, analyze_kernel
from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.optimize.choose_amounts import (
    choose_chunk,
    choose_copies,
    choose_lanes,
    choose_tile,
)
from tg_core.codegen.optimize.choose_vectors import Vectors, choose_vectors, gathers, native_lanes
from tg_core.codegen.utils import constant_size, greatest_size
from tg_core.uop.ops import Ops, UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_LEAST_WORK: Final = 1 << 15
"""Kernels with less are not divided among threads."""
_LIGHT_WORK: Final = 12
"""Bodies of at most this weight use two registers per value, to hide latency."""
_PLAIN_WORK: Final = 3
"""Bodies of at most this weight do little but accumulate."""
_HEAVY_WORK: Final = 40
"""Bodies of more than this weight are not worth compiling for lanes when they run only a few
times.
"""
_LITTLE_WORK: Final = 1 << 13
"""Kernels with less than this are over in microseconds."""
_LEAST_TILES: Final = 8
"""Tiles that must share a staged operand."""
_LEAST_STEPS: Final = 64
_FAR: Final = 1 << 10
"""Bytes between the rows of an operand from which staging it pays."""
_MOST_STAGED: Final = 1 << 18
"""Bytes of a staged operand: about half of a second-level cache."""
_LATENCY: Final = 4
"""Independent accumulators that keep one unit of addition busy."""
_MOST_COPIES: Final = 8
_LINE: Final = 64
"""Bytes of a cache line."""
_MOST_ROWS: Final = 16
"""Copies along a transposed range."""


def _axis(rng: UOp) -> tuple[int, ...]:
    axis: tuple[int, ...] = rng.arg[:-1]
    return axis


class _Chooser:
    """Collects the options of one kernel."""

    def __init__(self, kernel: Kernel, vectors: Vectors, renderer: Renderer) -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.renderer = renderer
        self.lanes: dict[UOp, int] = {}
        self.copies: dict[UOp, int] = {}
        self.chunks: dict[UOp, int] = {}
        self.staged: UOp | None = None
        self.padded: dict[UOp, int] = {}

    def run(self) -> tuple[Opt, ...]:
        """Return the options: chunks, then lanes, then copies."""
        main = self._main_reduction()
        if main is not None:
            self._tile(main)
        else:
            self._tile_transposed()
        for nest in (*self.kernel.outputs, *self.kernel.reductions):
            rng = self.vectors.of_nest.get(nest.node)
            if rng is not None and rng not in self.lanes:
                self.lanes[rng] = self._lanes_of(nest, rng)
        self._divide_among_threads()
        return (
            *(Opt(OptKind.PAD, _axis(r), n) for r, n in self.padded.items()),
            *(Opt(OptKind.CHUNK, _axis(r), n) for r, n in self.chunks.items()),
            *(Opt(OptKind.VECTOR, _axis(r), n) for r, n in self.lanes.items()),
            *(Opt(OptKind.UPCAST, _axis(r), n) for r, n in self.copies.items()),
            *(() if self.staged is None else (Opt(OptKind.STAGE, _axis(self.staged)),)),
        )

    def _main_reduction(self) -> Nest | None:
        if not self.kernel.reductions:
            return None
        return max(self.kernel.reductions, key=_cost)

    def _lanes_of(self, nest: Nest, rng: UOp) -> int:
        native = native_lanes(nest, self.renderer)
        size = constant_size(rng)
        if gathers(nest, rng):
            return choose_lanes(size, native, 1)
        if nest.node.op is Ops.REDUCE:
            registers = _LATENCY if nest.work <= _LIGHT_WORK else 2
            return choose_lanes(size, native, registers, registers)
        return choose_lanes(size, native, 2 if nest.work <= _LIGHT_WORK else 1)

    def _tile(self, nest: Nest) -> None:
        """Choose lanes and copies for the dominating reduction so that its accumulators fill the
        registers.
        """
        vector = self.vectors.of_nest.get(nest.node)
        native = native_lanes(nest, self.renderer)
        candidates = self._reused(nest, vector)
        registers = self.renderer.registers
        if vector is not None and vector not in nest.own:
            self._tile_output(nest, vector, native, candidates, registers)
        elif vector is not None:
            self._tile_reduction(nest, vector, native, candidates, registers)

    def _tile_transposed(self) -> None:
        """Copy along a range that a load walks in order where the store walks another: whole
        cache lines are used.
        """
        for nest in self.kernel.outputs:
            if len(nest.stores) != 1:
                continue
            stored = [r for r in nest.own if nest.stores[0].stride(r) == 1]
            for load in nest.loads:
                if not stored or load.stride(stored[0]) in (0, 1):
                    continue
                # lanes along that range use whole lines already
                taken = (stored[0], self.vectors.of_nest.get(nest.node))
                along = [r for r in nest.own if r not in taken and load.stride(r) == 1]
                if along:
                    self._copy(along[0], min(_LINE // load.node.dtype.itemsize, _MOST_ROWS))
                    break

    def _reused(self, nest: Nest, vector: UOp | None) -> list[tuple[UOp, int]]:
        """Return output ranges with the number of loads that copies along them would share, most
        first.
        """
        found: list[tuple[UOp, int]] = []
        for rng in nest.loops:
            if rng in nest.own or rng is vector or greatest_size(rng) < 2:
                continue
            shared = sum(not load.depends_on(rng) for load in nest.loads)
            if shared and shared < len(nest.loads):
                found.append((rng, shared))
        # a wider tile along the range of more reuse; among equals the innermost
        found.reverse()
        return sorted(found, key=_negated_count)

    def _tile_output(
        self,
        nest: Nest,
        vector: UOp,
        native: int,
        candidates: list[tuple[UOp, int]],
        registers: int,
    ) -> None:
        size = constant_size(vector)
        if gathers(nest, vector):
            self.lanes[vector] = choose_lanes(size, native, 1)
            return
        if not candidates:
            # nothing is shared: more lanes keep more additions in flight
            widest = (
                2 * _LATENCY if nest.work <= _PLAIN_WORK else 2 if nest.work <= _LIGHT_WORK else 1
            )
            self.lanes[vector] = choose_lanes(size, native, widest, min(widest, _LATENCY))
            return
        self.lanes[vector] = choose_lanes(size, native, 2)
        lanes = self.lanes[vector] or size or native
        per_copy = max(math.ceil(lanes / native), 1)
        # the accumulators, the shared vector and one broadcast operand
        most = min((registers - per_copy - 1) // per_copy, _MOST_COPIES)
        if len(candidates) > 1 and greatest_size(candidates[0][0]) < most // 2:
            first = greatest_size(candidates[0][0])
            self.copies[candidates[0][0]] = 0
            second = choose_copies(constant_size(candidates[1][0]), most // first)
            if second > 1:
                self.copies[candidates[1][0]] = second
            return
        self._copy(candidates[0][0], most)
        self._stage(nest, vector, candidates[0][0])

    def _stage(self, nest: Nest, vector: UOp, copied: UOp) -> None:
        """Stage the operand that copies share when its rows lie far apart and many tiles read
        them.
        """
        size, rows = constant_size(vector), constant_size(copied)
        lanes, copies = self.lanes[vector] or size, self.copies.get(copied, 1)
        if size is None or rows is None or not lanes or not copies:
            return
        if len(nest.own) != 1 or len(nest.node.ranges) != 2 or rows // copies < _LEAST_TILES:
            return
        steps = constant_size(nest.own[0]) or 0
        for load in nest.loads:
            stride = load.stride(nest.own[0])
            if load.depends_on(copied) or stride is None or load.mask is not None:
                continue
            far = abs(stride) * load.node.dtype.itemsize >= _FAR
            if far and _LEAST_STEPS <= steps and steps * lanes * nest.widest <= _MOST_STAGED:
                self.staged = nest.own[0]
                wide = 2 * native_lanes(nest, self.renderer)
                if size > wide:
                    # what is left of the columns is masked, so that all of them can be staged
                    self.lanes[vector] = wide
                    if size % wide:
                        self.padded[vector] = wide

    def _tile_reduction(
        self,
        nest: Nest,
        vector: UOp,
        native: int,
        candidates: list[tuple[UOp, int]],
        registers: int,
    ) -> None:
        size = constant_size(vector)
        if not candidates:
            self.lanes[vector] = self._lanes_of(nest, vector)
            return
        if len(candidates) == 1:
            # one operand is shared, as in a product of matrix and vector
            self.lanes[vector] = choose_lanes(size, native, 2)
            self._copy(candidates[0][0], _LATENCY)
            return
        self.lanes[vector] = choose_lanes(size, native, 1)
        first, second = candidates[0][0], candidates[1][0]
        sizes = constant_size(first), constant_size(second)
        if sizes[0] is None or sizes[1] is None:
            return
        for rng, size, copies in zip(
            (first, second), sizes, choose_tile(sizes[0], sizes[1], registers * 3 // 4), strict=True
        ):
            if copies > 1:
                self.copies[rng] = 0 if copies == size else copies

    def _copy(self, rng: UOp, most: int) -> None:
        size = constant_size(rng)
        if size is None:
            return
        copies = choose_copies(size, most)
        if copies > 1:
            self.copies[rng] = 0 if copies == size else copies

    def _divide_among_threads(self) -> None:
        """Choose the outermost output ranges as chunks when there is enough work."""
        if (
            not self.renderer.has_threads
            or len(self.kernel.outputs) != 1
            or self.kernel.cost < _LEAST_WORK
        ):
            return
        nest = self.kernel.outputs[0]
        work = self.kernel.cost
        ranges = nest.own
        if self.staged is not None:
            # every chunk stages its own columns, and all rows share them
            ranges = tuple(sorted(ranges, key=self.lanes.__contains__, reverse=True))
        for rng in ranges:
            size = constant_size(rng)
            if size is None or not self._may_divide(rng):
                return
            if rng in self.padded:
                size = -(-size // self.padded[rng]) * self.padded[rng]
            unit = self._unit(rng)
            if unit == 0:
                continue
            if self._is_short(rng, size, unit):
                continue
            if size <= 4 and unit == 1 and rng is not nest.own[-1]:
                self.chunks[rng] = 1
                work //= size
                continue
            chunk = choose_chunk(size, unit, work)
            if chunk < size:
                self.chunks[rng] = chunk
            return

    def _is_short(self, rng: UOp, size: int, unit: int) -> bool:
        """Tell whether a range has too few tiles to be divided among threads, while another has
        more.
        """
        if self.staged is not None:
            return rng in self.lanes and size < _LEAST_TILES * unit
        others = [r for r in self.copies if r is not rng and greatest_size(r) > size]
        return rng in self.copies and bool(others) and size < _LEAST_TILES * unit

    def _unit(self, rng: UOp) -> int:
        """Return what a chunk should be a multiple of, 0 when the range is used up by lanes or
        copies.
        """
        for taken in (self.lanes, self.copies):
            if rng in taken:
                return taken[rng]
        return 1

    def _may_divide(self, rng: UOp) -> bool:
        """Tell whether every reduction of weight depends on the range, so that no chunk repeats
        it.
        """
        return all(
            rng in nest.loops or nest.cost * 64 < self.kernel.cost
            for nest in self.kernel.reductions
        )


def _cost(nest: Nest) -> int:
    return nest.cost


def _negated_count(candidate: tuple[UOp, int]) -> int:
    return -candidate[1]


def choose_opts_simd(sink: UOp, renderer: Renderer) -> tuple[Opt, ...]:
    """Return options for a processor with vector registers.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target.
    """
    kernel = analyze_kernel(sink)
    heaviest = max((n.work for n in (*kernel.outputs, *kernel.reductions)), default=0)
    if heaviest > _HEAVY_WORK and kernel.cost < _LITTLE_WORK:
        return ()
    vectors = choose_vectors(kernel, renderer)
    return _Chooser(kernel, vectors, renderer).run()
