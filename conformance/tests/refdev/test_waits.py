"""Every wait that batches have is needed, as the race detector finds when it is left out, or is
implied by others, as the order of the operations shows.

Two batches are given without waiting; in the second one, one wait at a time is left out. Then the
host writes all buffers, one device after the other, in three orders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from happens_before import order_of
from recovering import recover_all
from wait_report import COUNTS, PROPERTY, WaitReport

from tg_conformance.refdev.emulated import MACHINE
from tg_conformance.suite.graphs import SIZE, Graphs
from tg_conformance.suite.queues import batch_of
from tg_core.errors import DeviceError
from tg_core.hcq import Submits, link_queues, link_submits, schedule_submits
from tg_core.uop.ops import Ops, UOp

GRAPHS = Graphs(("REF", "REF:1", "REF:2"))
COUNT = int(os.environ.get("TG_WAIT_GRAPHS", "4"))
"""Pairs of batches; `nox -s waits` tries many."""
OPERATIONS = 8
BUFFERS = [(GRAPHS.device_of(n), 4 * SIZE) for n in range(GRAPHS.count)]


@pytest.fixture(scope="module")
def total() -> dict[str, int]:
    """What became of the waits that this process has left out."""
    return dict.fromkeys(COUNTS, 0)


@pytest.fixture
def counted(
    total: dict[str, int], record_property: Callable[[str, object], None]
) -> Iterator[dict[str, int]]:
    """What became of the waits of one pair of batches."""
    counts = dict.fromkeys(COUNTS, 0)
    record_property(PROPERTY, counts)
    yield counts
    for name in COUNTS:
        total[name] += counts[name]


def host_order(first: int) -> list[str]:
    return [GRAPHS.devices[(first + n) % 3] for n in range(3)]


def waits_of(made: Submits) -> list[tuple[int, int]]:
    return [
        (q, at)
        for q, linear in enumerate(made.linears)
        for at, op in enumerate(linear.src)
        if op.op is Ops.INS and op.arg == "wait"
    ]


def without(made: Submits, q: int, at: int) -> Submits:
    linears = list(made.linears)
    linears[q] = linears[q].replace(src=linears[q].src[:at] + linears[q].src[at + 1 :])
    return replace(made, linears=tuple(linears))


def needed(batches: list[tuple[UOp, Submits]]) -> bool:
    """Tell whether some access follows on none of the order that is left."""
    return any(order_of(batches, host_order(n), BUFFERS).unordered() for n in range(3))


@contextmanager
def given_as(call: UOp, cut: Submits) -> Iterator[None]:
    """Let a batch be encoded as it is given here, once for all that is done inside."""

    def planned(asked: UOp, *options: Any) -> Submits:
        return cut if asked is call else schedule_submits(asked, *options)

    forget_encoded(call)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_queues, "schedule_submits", planned)
        yield
    forget_encoded(call)


def forget_encoded(call: UOp) -> None:
    for key in [key for key in link_queues._templates if key[0] is call.src[0]]:
        del link_queues._templates[key]


def race_found(calls: list[UOp], start: np.ndarray, first: int) -> bool:
    """Tell whether the detector minds the batches, one given after the other."""
    failure = ""
    try:
        buffers = GRAPHS.buffers(start)
        linked = [link_submits(call, {}) for call in calls]
        for each in linked:
            each.run(buffers)
        for device in host_order(first):
            for buffer, row in zip(buffers, start):
                if buffer.device == device:
                    buffer.copyin(row.tobytes())
        # A queue that nobody waits for has not come to its end, and to its fault.
        while MACHINE.advance():
            pass
        faults = [str(queue.fault) for queue in MACHINE.queues if queue.fault is not None]
        failure = "; ".join(faults)
    except DeviceError as error:
        failure = str(error)
    finally:
        recover_all()
    assert not failure or "race on" in failure, failure
    return bool(failure)


@pytest.mark.parametrize("seed", range(COUNT))
def test_every_wait_is_needed_or_implied(seed: int, counted: dict[str, int]) -> None:
    start = GRAPHS.start(seed)
    calls = [batch_of(GRAPHS.calls(GRAPHS.draw(2 * seed + n, OPERATIONS))) for n in range(2)]
    made = [schedule_submits(call) for call in calls]
    assert not needed(list(zip(calls, made)))
    MACHINE.reseed(seed)
    for first in range(3):
        assert not race_found(calls, start, first)
    for q, at in waits_of(made[1]):
        cut = without(made[1], q, at)
        with given_as(calls[1], cut):
            race = any(race_found(calls, start, first) for first in range(3))
        missed = needed([(calls[0], made[0]), (calls[1], cut)])
        counted["waits"] += 1
        counted["found by the detector"] += race
        counted["implied by others"] += not missed
        counted["survivors"] += missed and not race
        assert race == missed, (
            f"wait {at} of {made[1].queues[q]}: the detector finds {'a' if race else 'no'} race, "
            f"and the order shows that it is {'needed' if missed else 'implied'}"
        )


def test_waits_were_found_and_implied(total: dict[str, int]) -> None:
    if total["waits"]:
        assert total["found by the detector"] > 0
        assert total["survivors"] == 0
        assert total["found by the detector"] + total["implied by others"] == total["waits"]


def test_the_report_sums_what_tests_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "waits.json"
    monkeypatch.setenv("TG_WAIT_REPORT", str(path))
    report = WaitReport()
    first, second = (dict(zip(COUNTS, range(n, n + 4))) for n in (10, 20))
    for outcome, properties in (("passed", first), ("failed", second), ("passed", None)):
        for when in ("setup", "call", "teardown"):
            said = [(PROPERTY, properties)] if properties else []
            result = outcome if when == "call" else "passed"
            report.pytest_runtest_logreport(
                pytest.TestReport("t", ("t", 1, "t"), {}, result, None, when, user_properties=said)
            )
    report.pytest_sessionfinish()
    found = json.loads(path.read_text())
    assert [found[name] for name in COUNTS] == [30, 32, 34, 36]
    assert (found["graphs"], found["failed tests"]) == (2, 1)
