"""Choose the range of each loop nest that becomes SIMD lanes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tg_core.codegen.utils import constant_size, greatest_size
from tg_core.uop.ops import UOp

if TYPE_CHECKING:
    from tg_core.codegen.optimize.analyze_kernel import Access, Kernel, Nest
    from tg_core.renderer import Renderer

# combining the lanes of a vector costs about this much per halving
_SHUFFLE_COST: Final = 3
_MASK_COST: Final = 0.5
_GATHER_COST: Final = 2.0
# lanes must be worth their shuffles and larger code
_LEAST_GAIN: Final = 0.85


@dataclass
class Vectors:
    """The choice: which nests have which range as lanes."""

    of_nest: dict[UOp, UOp] = field(default_factory=dict)
    """By END or REDUCE node: the range, which may be one of a nest outside."""

    @property
    def ranges(self) -> list[UOp]:
        """The distinct ranges, in order."""
        return list(dict.fromkeys(self.of_nest.values()))


def native_lanes(nest: Nest, renderer: Renderer) -> int:
    """Return how many of the nest's widest values fit a vector register."""
    return max(renderer.vector_bytes // nest.widest, 1)


def usable(rng: UOp, lanes: int) -> bool:
    """Tell whether a range is long enough to fill a good part of a register."""
    size = constant_size(rng)
    return lanes > 1 and (
        greatest_size(rng) >= 2 * lanes if size is None else size >= max(lanes // 2, 2)
    )


def _access_cost(access: Access, rng: UOp, lanes: int, masked: bool) -> float:
    """Return the cost of one access for `lanes` iterations of the range."""
    if not access.depends_on(rng):
        return 1.0
    if access.masked_by(rng) and not masked:
        return lanes * _GATHER_COST
    extra = _MASK_COST if access.masked_by(rng) else 0.0
    return 1.0 + extra if access.stride(rng) == 1 else lanes * _GATHER_COST


def gathers(nest: Nest, rng: UOp) -> bool:
    """Tell whether lanes along the range make a load of the nest one per lane."""
    return any(load.depends_on(rng) and load.stride(rng) != 1 for load in nest.loads)


def nest_cost(nest: Nest, rng: UOp | None, renderer: Renderer) -> float:
    """Return the cost of a nest with a range as lanes, or without."""
    if rng is None:
        return _LEAST_GAIN * nest.cost
    lanes = native_lanes(nest, renderer)
    accesses = sum(
        _access_cost(a, rng, lanes, renderer.has_masked_access) for a in (*nest.loads, *nest.stores)
    )
    size = greatest_size(rng)
    # the last register of a short range is partly empty
    rounds = nest.trips / size * math.ceil(size / lanes)
    cost = rounds * (nest.work + accesses)
    if rng in nest.own and nest.node.ranges is not nest.loops and nest.stores == []:
        outer = nest.trips / math.prod(greatest_size(r) for r in nest.own)
        cost += outer * _SHUFFLE_COST * math.log2(lanes)
    return cost


def _choose_reductions(kernel: Kernel, chosen: Vectors, renderer: Renderer) -> float:
    """Choose lanes for every reduction, given those of the outputs; reductions read by others
    first.
    """
    total = 0.0
    for nest in reversed(kernel.reductions):
        given = [r for r in chosen.ranges if r in nest.loops]
        if given:
            chosen.of_nest[nest.node] = given[0]
            total += nest_cost(nest, given[0], renderer)
            if len(given) > 1:
                return math.inf
            continue
        lanes = native_lanes(nest, renderer)
        # a range that another reduction of a value inside would also be lanes of must not meet a
        # second one
        best, best_cost = None, nest_cost(nest, None, renderer)
        for rng in nest.own:
            if usable(rng, lanes) and (cost := nest_cost(nest, rng, renderer)) < best_cost:
                best, best_cost = rng, cost
        if best is not None:
            chosen.of_nest[nest.node] = best
        total += best_cost
    return total


def choose_vectors(kernel: Kernel, renderer: Renderer) -> Vectors:
    """Return the cheapest choice by a model that counts operations, accesses and shuffles.

    Args:
        kernel: the analysed kernel.
        renderer: a target with vector registers.
    """
    best, best_cost = Vectors(), math.inf
    candidates: list[list[UOp | None]] = []
    for nest in kernel.outputs:
        lanes = native_lanes(nest, renderer)
        candidates.append([None, *(r for r in nest.own if usable(r, lanes))])
    # outputs are chosen one after the other: they share no ranges
    picked: dict[UOp, UOp] = {}
    for nest, options in zip(kernel.outputs, candidates, strict=True):
        best, best_cost = Vectors(dict(picked)), math.inf
        for option in options:
            trial = Vectors(dict(picked))
            if option is not None:
                trial.of_nest[nest.node] = option
            cost = nest_cost(nest, option, renderer) + _choose_reductions(kernel, trial, renderer)
            if cost < best_cost:
                best, best_cost = trial, cost
        if nest.node in best.of_nest:
            picked[nest.node] = best.of_nest[nest.node]
    return best
