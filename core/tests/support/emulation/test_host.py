"""The host beside emulated queues."""

from __future__ import annotations

import threading

import pytest

from tg_core.support.emulation import HostWatch, Machine, RaceFault

SIGNAL = 0x100


def test_what_the_host_touches_is_compared_with_the_queues() -> None:
    machine = Machine(0)
    watch = HostWatch(machine)
    machine.races.access("Q", "kernel", [(0, 8, True)])
    with pytest.raises(RaceFault, match=r"read by copyout \(host\) is not ordered after write"):
        watch.access("copyout", 4, 2, False)
    machine.races.release("Q", SIGNAL, 1)
    watch.acquire(SIGNAL)
    watch.access("copyout", 4, 2, False)


def test_a_submission_is_after_the_last_run_of_its_commands() -> None:
    machine = Machine(0)
    watch = HostWatch(machine)
    machine.races.access("Q", "commands", [(0, 64, False)])
    with pytest.raises(RaceFault, match="submission to Q"):
        watch.submitted("submission to Q", SIGNAL, 0, 64)
    machine.races.release("Q", SIGNAL, 1)
    watch.submitted("submission to Q", SIGNAL, 0, 64)


def test_a_signal_that_the_host_sets_stands_for_dropped_work() -> None:
    machine = Machine(0)
    watch = HostWatch(machine)
    watch.access("copyin", 0, 8, True)
    watch.release(SIGNAL, 7)
    machine.races.acquire("Q", SIGNAL, 7)
    machine.races.access("Q", "kernel", [(0, 8, True)])


def test_nobody_advances_during_a_submission() -> None:
    machine = Machine(0)
    watch = HostWatch(machine)
    assert not watch.occupied
    with watch.submission():
        thread = threading.Thread(target=machine.advance)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
    thread.join()
