from __future__ import annotations

import os
import threading
import time

import pytest

from tg_core.support.emulation import EmulatedQueue, Machine, PacketFault


class Counter(EmulatedQueue):
    """Executes `total` packets, and notes each in a common list."""

    def __init__(self, name: str, total: int, order: list[str], bad: int = -1) -> None:
        self.name, self.total, self.order, self.bad = name, total, order, bad
        self.done = self.seen = 0

    def look(self) -> None:
        self.seen = self.total

    def ready(self) -> bool:
        return self.done < self.seen

    def step(self) -> None:
        if self.done == self.bad:
            raise PacketFault(f"packet {self.done} of {self.name}")
        self.done += 1
        self.order.append(self.name)

    def state(self) -> str:
        return f"{self.done} done"


def order_of(seed: int) -> str:
    order: list[str] = []
    machine = Machine(seed)
    for name in "abc":
        machine.add(Counter(name, 10, order))
    while machine.advance():
        pass
    assert sorted(order) == sorted("abc" * 10)
    return "".join(order)


def test_a_seed_is_an_order() -> None:
    orders = [order_of(seed) for seed in range(20)]
    assert orders == [order_of(seed) for seed in range(20)]
    assert len(set(orders)) > 15


def test_a_fault_stops_its_queue_alone_and_is_reported() -> None:
    order: list[str] = []
    machine = Machine(3)
    bad, good = Counter("bad", 5, order, 2), Counter("good", 5, order)
    machine.add(bad)
    machine.add(good)
    while machine.advance():
        pass
    assert (bad.done, good.done) == (2, 5)
    report = machine.report([bad, good])
    assert "bad: packet 2 of bad" in report
    assert "good: 5 done" in report
    assert "seed 3" in report


def test_queues_that_were_removed_do_not_move() -> None:
    order: list[str] = []
    machine = Machine(0)
    queue = Counter("a", 5, order)
    machine.add(queue)
    machine.remove([queue])
    assert not machine.advance()
    assert order == []


def test_each_fault_is_reported_once() -> None:
    reports: list[tuple[str, str]] = []
    machine = Machine(0)
    machine.fault_listeners.append(lambda report: reports.append((report.queue, report.message)))
    machine.add(Counter("bad", 5, [], 2))
    for _ in range(20):
        machine.advance()
    assert reports == [("bad", "packet 2 of bad")]


def test_queues_run_freely_in_threads() -> None:
    order: list[str] = []
    machine = Machine(0)
    queues = [Counter(name, 200, order) for name in "abc"]
    for queue in queues:
        machine.add(queue)
    with machine.free_running():
        while any(queue.done < queue.total for queue in queues):
            time.sleep(1e-3)
    assert sorted(order) == sorted("abc" * 200)


class Slow(EmulatedQueue):
    """One packet that takes until it is let go."""

    name = "slow"

    def __init__(self) -> None:
        self.left, self.inside, self.go = 1, threading.Event(), threading.Event()

    def look(self) -> None:
        pass

    def ready(self) -> bool:
        return self.left > 0

    def step(self) -> None:
        self.inside.set()
        assert self.go.wait(10)
        self.left = 0

    def state(self) -> str:
        return f"{self.left} left"


def test_a_packet_does_not_advance_the_machine_it_is_part_of() -> None:
    inner: list[bool] = []

    class Waiting(Counter):
        def step(self) -> None:
            inner.append(machine.advance())
            assert machine.stepping
            super().step()

    machine = Machine(0)
    queue = Waiting("a", 3, [])
    machine.add(queue)
    while machine.advance():
        pass
    assert queue.done == 3
    assert inner == [False] * 3
    assert not machine.stepping


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_a_fork_finds_no_packet_half_done_and_no_lock_taken() -> None:
    machine, queue = Machine(0), Slow()
    machine.add(queue)
    thread = threading.Thread(target=machine.advance)
    thread.start()
    assert queue.inside.wait(10)
    threading.Timer(0.05, queue.go.set).start()
    child = os.fork()
    if child == 0:
        # the other thread is not here; without waiting for it the lock were taken for good
        taken = machine.lock.acquire(timeout=5)
        os._exit(0 if taken and queue.left == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert not machine.advance()
