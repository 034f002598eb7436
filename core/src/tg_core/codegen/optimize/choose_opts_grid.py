"""Heuristics for targets with a grid of work items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg_core.codegen.optimize.analyze_kernel import Kernel, analyze_kernel
from tg_core.codegen.optimize.api import Opt, OptKind
from tg_core.codegen.utils import constant_size, greatest_size
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from tg_core.renderer import Renderer

_LOCAL_SIZES: Final = (256, 128, 64, 32, 16, 8)
_TILE: Final = 4
_FEW_OUTPUTS: Final = 2048
_LONG_REDUCTION: Final = 64


def _grid_ranges(kernel: Kernel) -> list[list[UOp]]:
    """Return for each output the ranges that become grid indices.

    A range that a reduction does not depend on stays a loop, so that the reduction is computed once
    for all of it.
    """
    found: list[list[UOp]] = []
    for nest in kernel.outputs:
        relevant = [r for r in kernel.reductions if any(rng in r.loops for rng in nest.own)]
        found.append([rng for rng in nest.own if all(rng in r.loops for r in relevant)])
    return found


def _shared_by_copies(kernel: Kernel, rng: UOp) -> bool:
    """Tell whether copies along an output range would share a load of a reduction."""
    for nest in kernel.reductions:
        if rng in nest.loops and any(not load.depends_on(rng) for load in nest.loads):
            return any(load.depends_on(rng) for load in nest.loads)
    return False


def choose_opts_grid(sink: UOp, renderer: Renderer) -> tuple[Opt, ...]:
    """Return options for a target with a grid.

    Args:
        sink: a kernel whose ranges each belong to one loop.
        renderer: the target.
    """
    kernel = analyze_kernel(sink)
    grids = _grid_ranges(kernel)
    sizes = [[r.src[0] for r in grid] for grid in grids]
    if not grids or any(size != sizes[0] for size in sizes):
        # outputs that need different grids run as loops of one work item
        return ()
    opts: list[Opt] = []
    if renderer.has_local and len(grids) == 1:
        group = _group(kernel, grids[0], renderer)
        if group is not None:
            opts.append(group)
        else:
            opts.extend(_tiles(kernel, grids[0]))
            opts.extend(_locals(grids[0], opts, renderer))
    taken = {opt.axis for opt in opts if opt.amount == 0}
    for grid in grids:
        opts.extend(Opt(OptKind.CHUNK, r.arg[:-1], 1) for r in grid if r.arg[:-1] not in taken)
    return tuple(opts)


def _group(kernel: Kernel, grid: list[UOp], renderer: Renderer) -> Opt | None:
    """Choose to share a long reduction among work items where the outputs alone are too few."""
    outputs = math.prod(greatest_size(r) for r in grid)
    if outputs > _FEW_OUTPUTS or len(kernel.reductions) != 1:
        return None
    nest = kernel.reductions[0]
    for rng in reversed(nest.own):
        size = constant_size(rng)
        if size is None or size < _LONG_REDUCTION:
            continue
        for items in _LOCAL_SIZES:
            if (
                size % items == 0
                and items <= renderer.local_max[0]
                and items * nest.widest <= renderer.shared_bytes
            ):
                return Opt(OptKind.GROUP, rng.arg[:-1], items if items < size else 0)
    return None


def _tiles(kernel: Kernel, grid: list[UOp]) -> list[Opt]:
    """Choose a register tile where copies share operands of a reduction."""
    opts: list[Opt] = []
    for rng in grid:
        size = constant_size(rng)
        if (
            size is not None
            and size % _TILE == 0
            and size > _TILE
            and _shared_by_copies(kernel, rng)
        ):
            opts.append(Opt(OptKind.UPCAST, rng.arg[:-1], _TILE))
        if len(opts) == 2:
            break
    return opts


def _locals(grid: list[UOp], taken: list[Opt], renderer: Renderer) -> list[Opt]:
    """Choose the innermost grid range as work items of a group."""
    for rng in reversed(grid):
        size = greatest_size(rng)
        if constant_size(rng) is None:
            continue
        for opt in taken:
            if opt.axis == rng.arg[:-1]:
                size //= opt.amount
        for local in _LOCAL_SIZES:
            if local <= renderer.local_max[0] and size % local == 0:
                return [
                    Opt(
                        OptKind.LOCAL,
                        rng.arg[:-1],
                        0 if size == local and size == greatest_size(rng) else local,
                    )
                ]
    return []
