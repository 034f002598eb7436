"""Level 3: random graphs on several queues and devices give one result in every order."""

from __future__ import annotations

from typing import Any

import pytest

from tg_conformance.suite.graphs import Graphs, check_contents, expected
from tg_conformance.suite.queues import batch_of, free_running, opened, peers, reseed
from tg_conformance.thorough import SLICE, Amount, thorough_amount
from tg_core.hcq import QueueName, link_queues, link_submits
from tg_core.hcq.queue_choice import QueueChoice

pytestmark = [pytest.mark.tg_level(3), pytest.mark.tg_needs("QUEUES")]

GROUPS = 8
"""Tests that the graphs are spread over."""


@pytest.fixture
def graphs(tg_device: str) -> Graphs:
    """Graphs on the device and up to two peers."""
    return Graphs(tuple(peers(tg_device)))


@pytest.fixture
def amount(pytestconfig: pytest.Config) -> Amount:
    """How many graphs are to be tried, in how many orders."""
    return thorough_amount() if pytestconfig.getoption("--tg-thorough") else SLICE


@pytest.mark.tg_core
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_graphs(tg_device: str, graphs: Graphs, amount: Amount, group: int) -> None:
    """A batch gives what its operations give one after the other, whichever queue is ahead."""
    for seed in range(group, amount.graphs, GROUPS):
        graph, start = graphs.draw(seed, 8 + seed % 9), graphs.start(seed)
        buffers, wanted = graphs.buffers(start), start
        linked = link_submits(batch_of(graphs.calls(graph)), {})
        for schedule in range(amount.orders):
            reseed(tg_device, schedule)
            linked.run(buffers)
            wanted = expected(graph, wanted)
            # Mostly the next run is given while this one is in flight.
            if schedule < 2 or schedule % 8 == 7:
                what = f"graph {seed} after runs in orders 0 to {schedule}"
                check_contents(what, buffers, wanted)
        check_contents(f"graph {seed} after runs in all orders", buffers, wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("seed", range(4))
def test_queues_that_run_by_themselves(tg_device: str, graphs: Graphs, seed: int) -> None:
    """Batches are right when queues go on while the host links, gives and reads."""
    drawn = [graphs.draw(300 + 10 * seed + number, 8) for number in range(3)]
    # Queues that are made later do not run by themselves.
    for graph in drawn:
        link_submits(batch_of(graphs.calls(graph)), {}).run(graphs.buffers(graphs.start(1)))
    start = graphs.start(seed)
    buffers, wanted = graphs.buffers(start), start
    with free_running(tg_device):
        linked = [link_submits(batch_of(graphs.calls(graph)), {}) for graph in drawn]
        for turn in range(9):
            linked[turn % 3].run(buffers)
            wanted = expected(drawn[turn % 3], wanted)
            if turn % 4 == 3:
                check_contents(f"{turn + 1} batches in threads, seed {seed}", buffers, wanted)
    check_contents(f"9 batches in threads, seed {seed}", buffers, wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("seed", range(6))
def test_batches_follow_each_other(tg_device: str, graphs: Graphs, seed: int) -> None:
    """Batches that share memory are given without waiting, and come in the order they were given.

    The host looks at one device in between, so that others are behind.
    """
    reseed(tg_device, seed)
    drawn = [graphs.draw(100 * seed + number, 6) for number in range(6)]
    start = graphs.start(seed)
    buffers, wanted = graphs.buffers(start), start
    linked = [link_submits(batch_of(graphs.calls(graph)), {}) for graph in drawn]
    for turn in range(18):
        linked[turn % 6].run(buffers)
        wanted = expected(drawn[turn % 6], wanted)
        if turn % 5 == 4:
            opened(graphs.devices[-1]).synchronize()
    check_contents(f"18 batches, seed {seed}", buffers, wanted)


@pytest.mark.tg_core
@pytest.mark.parametrize("seed", range(4))
def test_batches_are_dropped_while_in_flight(tg_device: str, graphs: Graphs, seed: int) -> None:
    """The memory of a batch that nobody holds any more lasts until its devices are done."""
    reseed(tg_device, seed)
    start = graphs.start(seed)
    buffers, wanted = graphs.buffers(start), start
    for turn in range(10):
        graph = graphs.draw(50 + turn + 10 * seed, 5)
        link_submits(batch_of(graphs.calls(graph)), {}).run(buffers)
        wanted = expected(graph, wanted)
    check_contents(f"10 dropped batches, seed {seed}", buffers, wanted)


@pytest.mark.tg_needs("COPY_QUEUE")
@pytest.mark.parametrize("seed", range(4))
def test_copies_on_every_copy_queue(
    tg_device: str, graphs: Graphs, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies that take turns on all copy queues, whatever they depend on, keep the data's order."""
    count, turn = opened(tg_device).QUEUE_COUNTS.get("COPY", 1), 0

    def in_turn(_: QueueChoice, taking: QueueName, *rest: Any) -> QueueName:
        nonlocal turn
        turn += 1
        return taking._replace(number=turn % count if taking.kind == "COPY" else taking.number)

    reseed(tg_device, seed)
    graph, start = graphs.draw(900 + seed, 16), graphs.start(seed)
    buffers, wanted = graphs.buffers(start), start
    # nothing that was encoded in another way may be taken for it, or the other way round
    link_queues._templates.clear()
    with monkeypatch.context() as patch:
        patch.setattr(QueueChoice, "queue", in_turn)
        linked = link_submits(batch_of(graphs.calls(graph)), {})
    link_queues._templates.clear()
    for run in range(4):
        linked.run(buffers)
        wanted = expected(graph, wanted)
        if run % 2:
            what = f"graph {900 + seed} on {count} copy queues, run {run + 1}"
            check_contents(what, buffers, wanted)
