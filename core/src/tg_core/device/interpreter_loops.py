"""Reduce loops of the interpreter, many iterations at once.

A loop whose iterations meet only in accumulators,

    RANGE r; v = f(r, work item); STORE(acc, op(LOAD(acc), v)); END r

is run in two parts: `v` for a batch of iterations, by treating them as more work items; then the
accumulations one by one in the order of the loop, so that every rounding is as it would have been.
Loops nested right inside of each other are one loop over their product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_core.device.interpreter_ops import FUNCTIONS, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_core.device.interpreter_values import Array
    from tg_core.dtype import DType

BATCH = 1 << 15
"""How many values one batch of iterations computes per node, about."""

_PURE = frozenset((*FUNCTIONS, "CAST", "BITCAST", "CONST", "STACK", "INDEX", "LOAD", "PARAM"))


@dataclass(frozen=True)
class Node:
    """One row of the text."""

    number: int
    op: str
    dtype: DType
    lanes: int
    sources: tuple[int, ...]
    argument: Any


@dataclass(frozen=True)
class Accumulation:
    """`STORE(place, op(operands))`, where one operand is the LOAD of the same place."""

    place: int
    load: int
    op: str
    dtype: DType
    operands: tuple[int, ...]
    value: int
    store: int


@dataclass(frozen=True)
class LoopPlan:
    """How to run a loop in batches."""

    ranges: tuple[int, ...]
    """The loops, outermost first."""
    sizes: tuple[int, ...]
    """The node that is the size of each."""
    setup: tuple[int, ...]
    """Constants and places of accumulators among the nodes inside; what follows may read them."""
    body: tuple[int, ...]
    """The nodes that do not depend on an accumulator, in order."""
    outside: tuple[int, ...]
    """What the body reads from before the loop."""
    accumulations: tuple[Accumulation, ...]


def plan_loop(nodes: Sequence[Node], number: int, end: int) -> LoopPlan | None:
    """Return how to run a loop and those nested in it in batches, or None if that is not possible.

    Args:
        nodes: the program.
        number: the outermost RANGE.
        end: number of the END that closes it.
    """
    last = end
    while nodes[last - 1].op == "END":
        last -= 1
    inside = nodes[number:last]
    ranges = tuple(n.number for n in inside if n.op == "RANGE")
    closed = sorted(s for n in nodes[last : end + 1] for s in n.sources)
    if closed != list(ranges):
        return None
    sizes = [nodes[nodes[r].sources[0]] for r in ranges]
    if any(size.number > number and size.op != "CONST" for size in sizes):
        return None
    accumulations = _find_accumulations(nodes, number, inside)
    if accumulations is None:
        return None
    serial = {n for a in accumulations for n in (a.load, a.value, a.store)}
    body = [n for n in inside if n.op != "RANGE" and n.number not in serial]
    if not all(n.op in _PURE for n in body):
        return None
    if any(s in serial for n in body for s in n.sources):
        return None
    places = {a.place for a in accumulations}
    setup = [n.number for n in body if n.op == "CONST" or n.number in places]
    private = {n.number for n in inside} - set(setup)
    if any(s in private for n in nodes[end + 1 :] for s in n.sources):
        return None
    outside = dict.fromkeys(s for n in body for s in n.sources if s < number)
    for accumulation in accumulations:
        outside.update(dict.fromkeys(s for s in accumulation.operands if s < number))
    return LoopPlan(
        ranges,
        tuple(nodes[r].sources[0] for r in ranges),
        tuple(setup),
        tuple(n.number for n in body if n.number not in set(setup)),
        tuple(outside),
        tuple(accumulations),
    )


def _is_register(nodes: Sequence[Node], place: int) -> bool:
    """Tell whether a node is an element of a private array at a constant index."""
    index = nodes[place]
    if index.op != "INDEX":
        return False
    base, position = (nodes[s] for s in index.sources)
    return base.op == "BUFFER" and base.argument[1] == "reg" and position.op == "CONST"


def _find_accumulations(
    nodes: Sequence[Node], number: int, inside: Sequence[Node]
) -> list[Accumulation] | None:
    """Return the accumulations of a body; None if it does anything else with memory."""
    found: list[Accumulation] = []
    for store in inside:
        if store.op != "STORE":
            continue
        place, value = store.sources[0], nodes[store.sources[1]]
        loads = [s for s in value.sources if nodes[s].op == "LOAD" and nodes[s].sources == (place,)]
        usual = len(store.sources) == 2 and value.op in FUNCTIONS and value.number > number
        if not usual or len(loads) != 1 or not _is_register(nodes, place) or loads[0] < number:
            return None
        found.append(
            Accumulation(
                place=place,
                load=loads[0],
                op=value.op,
                dtype=value.dtype,
                operands=value.sources,
                value=value.number,
                store=store.number,
            )
        )
    places = {a.place for a in found}
    loaded = {a.load for a in found}
    for node in inside:
        touches = node.op == "LOAD" and nodes[nodes[node.sources[0]].sources[0]].op == "BUFFER"
        if touches and node.number not in loaded:
            return None
    return found if found and len(places) == len(found) else None


def run_planned(
    plan: LoopPlan,
    values: list[Any],
    items: int,
    sizes: Sequence[int],
    evaluate: Callable[[list[Any], Sequence[int]], None],
    registers: tuple[Callable[[Any], Array], Callable[[Any, Array], None]],
) -> None:
    """Run all iterations.

    Args:
        plan: the loop.
        values: the values so far.
        items: number of work items.
        sizes: size of each loop, outermost first; none is 0.
        evaluate: computes nodes, given values and their numbers.
        registers: how to load and to store the place of an accumulation.
    """
    total = int(np.prod(sizes))
    load, store = registers
    batch = max(1, min(total, BATCH // items))
    state = [load(values[a.place]) for a in plan.accumulations]
    for first in range(0, total, batch):
        count = min(batch, total - first)
        local = list(values)
        for number in plan.outside:
            local[number] = _repeat(values[number], items, count)
        flat = np.arange(first, first + count)
        for number, size in zip(reversed(plan.ranges), reversed(sizes)):
            local[number] = np.repeat((flat % size).astype(values[number].dtype), items)
            flat = flat // size
        evaluate(local, plan.body)
        for slot, accumulation in enumerate(plan.accumulations):
            state[slot] = _accumulate(accumulation, local, state[slot], items, count)
    for accumulation, value in zip(plan.accumulations, state):
        store(values[accumulation.place], value)


def _repeat(value: Any, items: int, count: int) -> Any:
    """Return a value of each work item for each iteration; shared values stay as they are.

    Places in storage are a value for each work item as well.
    """
    if isinstance(value, tuple):
        storage, index, lanes = value
        return storage, _repeat(index, items, count), lanes
    if not isinstance(value, np.ndarray) or len(value) == 1:
        return value
    return np.tile(value, (count,) + (1,) * (value.ndim - 1))


def _accumulate(
    accumulation: Accumulation, local: list[Any], value: Array, items: int, count: int
) -> Array:
    def per_iteration(number: int) -> list[Array] | None:
        if number == accumulation.load:
            return None
        whole = local[number]
        if len(whole) == 1:
            return [whole] * count
        return list(whole.reshape(count, items, *whole.shape[1:]))

    parts = [per_iteration(number) for number in accumulation.operands]
    op, dtype = accumulation.op, accumulation.dtype
    for step in range(count):
        operands = [value if part is None else part[step] for part in parts]
        if value.ndim == 2:
            operands = [x if x.ndim == 2 else x[:, None] for x in operands]
        value = apply(op, operands, dtype)
    return value
