from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import toys

from tg_core.hcq.enqueue import QueueName
from tg_core.hcq.queue_choice import QueueChoice

COPY = QueueName("TOYB", "COPY", 0)


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def test_independent_calls_spread_by_bytes() -> None:
    choice = QueueChoice()
    numbers = [choice.queue(COPY, [], size).number for size in (100, 60, 10, 10, 10, 50)]
    assert numbers == [0, 1, 2, 2, 2, 2]
    assert choice.queue(COPY, [], 1).number == 1


def test_a_call_follows_what_it_depends_on() -> None:
    choice = QueueChoice()
    near = QueueName("TOYB", "COPY", 1)
    far = [QueueName("TOYB", "COMPUTE", 0), QueueName("TOYA", "COPY", 2)]
    assert choice.queue(COPY, [*far, near], 1) == near
    assert choice.queue(COPY, far, 1).number == 0


def test_devices_and_kinds_count_for_themselves() -> None:
    choice = QueueChoice()
    other = QueueName("TOYB:1", "COPY", 0)
    assert [choice.queue(q, [], 8).number for q in (COPY, other, COPY, other)] == [0, 0, 1, 1]
    single = QueueName("TOYA", "COPY", 0)
    assert [choice.queue(single, [], 8).number for _ in range(3)] == [0, 0, 0]
    compute = QueueName("TOYB", "COMPUTE", 0)
    assert [choice.queue(compute, [], 8).number for _ in range(2)] == [0, 0]
