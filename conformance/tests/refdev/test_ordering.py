"""Order between queues and devices: random graphs under many schedules, and waits left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ref_graphs import (
    Operation,
    batch_of,
    expected,
    new_buffers,
    random_graph,
    recover_all,
    results,
    start_values,
)

from tg_conformance.refdev.device import MACHINE
from tg_core.errors import DeviceError
from tg_core.hcq import link_queues, link_submits, schedule_submits
from tg_core.uop.ops import Ops, UOp


@pytest.mark.parametrize("graph_seed", range(12))
def test_random_graphs_compute_the_same_in_every_order(graph_seed: int) -> None:
    graph, start = random_graph(graph_seed, 14), start_values(graph_seed)
    wanted = expected(graph, start)
    buffers = new_buffers(start)
    linked = link_submits(batch_of(graph), {})
    for seed in range(12):
        MACHINE.reseed(seed)
        for buffer, row in zip(buffers, start):
            buffer.copyin(row.tobytes())
        linked.run(buffers)
        np.testing.assert_array_equal(results(buffers), wanted)


@pytest.mark.parametrize("seed", range(6))
def test_batches_follow_each_other_without_the_host_waiting(seed: int) -> None:
    MACHINE.reseed(seed)
    graphs = [random_graph(100 * seed + i, 6) for i in range(6)]
    start = start_values(seed)
    buffers, wanted = new_buffers(start), start
    linked = [link_submits(batch_of(graph), {}) for graph in graphs]
    for turn in range(12):
        linked[turn % 6].run(buffers)
        wanted = expected(graphs[turn % 6], wanted)
        MACHINE.advance()
    np.testing.assert_array_equal(results(buffers), wanted)


def waits_of(linears: tuple[UOp, ...]) -> list[tuple[int, int]]:
    """Return where the waits for calls of other queues are."""
    return [
        (q, at)
        for q, linear in enumerate(linears)
        for at, op in enumerate(linear.src)
        if op.op is Ops.INS and op.arg == "wait" and op.src[1].op is Ops.CONST
    ]


def ends_reached(linears: tuple[UOp, ...], without: tuple[int, int]) -> bool:
    """Tell whether what a wait orders is ordered without it, by the other waits alone."""
    stores: dict[UOp, list[tuple[int, int, int]]] = {}
    for q, linear in enumerate(linears):
        for at, op in enumerate(linear.src):
            if op.op is Ops.INS and op.arg == "store" and op.src[1].op is Ops.CONST:
                base, (_, offset) = op.src[0].src[0], op.src[0].arg
                stores.setdefault((base, offset), []).append((op.src[1].arg, q, at))

    def source(q: int, at: int) -> tuple[int, int]:
        op = linears[q].src[at]
        base, (_, offset) = op.src[0].src[0], op.src[0].arg
        wanted = op.src[1].arg
        return min((v, sq, sat) for v, sq, sat in stores[base, offset] if v >= wanted)[1:]

    target = source(*without)
    begin = without[1]
    while linears[without[0]].src[begin].arg == "wait":
        begin += 1
    todo, seen = [(without[0], begin)], set()
    while todo:
        q, at = todo.pop()
        for before in range(at, -1, -1):
            if (q, before) in seen:
                break
            seen.add((q, before))
            if q == target[0] and before >= target[1]:
                return True
            if (q, before) != without and (q, before) in waits_of(linears):
                todo.append(source(q, before))
    return False


def race_found(graph: list[Operation], start: np.ndarray, first: int) -> bool:
    """Run a graph, write all buffers anew, those of one device first, and tell whether the
    detector minds.
    """
    try:
        buffers = new_buffers(start)
        link_submits(batch_of(graph), {}).run(buffers)
        for i, row in enumerate(start):
            buffers[(i + 3 * first) % len(buffers)].copyin(row.tobytes())
        results(buffers)
    except DeviceError as error:
        recover_all()
        return "race on" in str(error)
    return False


@pytest.mark.parametrize("graph_seed", range(5))
def test_every_wait_is_missed_or_implied(graph_seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, start = random_graph(graph_seed, 9), start_values(graph_seed)
    call = batch_of(graph)
    whole = schedule_submits(call)
    found = implied = 0
    for q, at in waits_of(whole.linears):
        ops = list(whole.linears[q].src)
        del ops[at]
        linears = list(whole.linears)
        linears[q] = linears[q].replace(src=tuple(ops))
        cut = replace(whole, linears=tuple(linears))
        monkeypatch.setattr(link_queues, "schedule_submits", lambda *_, cut=cut: cut)
        link_queues._templates.clear()
        if any(race_found(graph, start, first) for first in range(3)):
            found += 1
        else:
            assert ends_reached(whole.linears, (q, at)), f"wait {at} of {whole.queues[q]}"
            implied += 1
    link_queues._templates.clear()
    assert found > 0
    assert found + implied == len(waits_of(whole.linears))


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_may_be_dropped_while_it_is_in_flight(seed: int) -> None:
    MACHINE.reseed(seed)
    start = start_values(seed)
    buffers, wanted = new_buffers(start), start
    for turn in range(10):
        graph = random_graph(50 + turn, 5)
        link_submits(batch_of(graph), {}).run(buffers)
        wanted = expected(graph, wanted)
        MACHINE.advance()
    np.testing.assert_array_equal(results(buffers), wanted)
