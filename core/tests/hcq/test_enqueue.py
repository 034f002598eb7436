from __future__ import annotations

from collections.abc import Iterator

import pytest
from toy_queues import PlainToy, ToyAllocator, toys

from tg_core.device import Device
from tg_core.device.queues import HCQAllocator
from tg_core.dtype import dtypes
from tg_core.hcq.enqueue import QueueName, has_queues, is_host_memory, is_staged, queue_of
from tg_core.uop.ops import KernelInfo, Ops, ProgramInfo, UOp


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def copy(target: str, source: str, size: int = 4) -> UOp:
    ends = [UOp.param(i, dtypes.float32, (size,), d) for i, d in enumerate((target, source))]
    return UOp.call(UOp(Ops.COPY, (ends[1],), target), *ends)


@pytest.mark.parametrize(
    ("target", "source", "queue", "staged"),
    [
        ("TOYA", "TOYA", "TOYA", False),
        ("TOYA:1", "TOYA", "TOYA", False),
        ("TOYA", "TOYA:1", "TOYA:1", False),
        ("CPU", "TOYA", "TOYA", False),
        ("TOYA", "CPU", "TOYA", False),
        ("NPY", "TOYB:2", "TOYB:2", False),
        ("TOYB", "TOYA", "TOYA", True),
        ("TOYA:1", "TOYB", "TOYB", True),
        ("CPU", "CPU", None, False),
        ("CPU", "PYTHON", None, False),
        ("TOYA", "NULL", None, False),
        ("DISK:/tmp/x", "TOYA", None, False),
    ],
)
def test_a_copy_is_pushed_from_its_source_if_it_can(
    target: str, source: str, queue: str | None, staged: bool
) -> None:
    call = copy(target, source)
    expected = None if queue is None else QueueName(queue, "COPY", 0)
    assert (queue_of(call), is_staged(call)) == (expected, staged)


def test_nothing_to_copy_needs_no_queue() -> None:
    assert queue_of(copy("TOYA", "TOYA", 0)) is None


def test_without_memory_of_the_host_nothing_is_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyAllocator, "map_host", HCQAllocator.map_host)
    call = copy("TOYB", "TOYA")
    assert (queue_of(call), is_staged(call)) == (None, False)


def test_a_device_may_reach_those_of_other_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlainToy, "reaches", lambda self, other: True)
    for ends in (("TOYB", "TOYA"), ("TOYA", "TOYB")):
        call = copy(*ends)
        assert (queue_of(call), is_staged(call)) == (QueueName("TOYA", "COPY", 0), False)


def test_kernels_go_to_the_queue_of_their_device() -> None:
    program = UOp(Ops.PROGRAM, (UOp.sink(arg=KernelInfo("k", ())),), ProgramInfo("k"))
    for device, queue in (("TOYA:1", QueueName("TOYA:1", "COMPUTE", 0)), ("CPU", None)):
        call = UOp.call(program, UOp.param(0, dtypes.float32, (4,), device))
        assert queue_of(call) == queue


def test_what_devices_are() -> None:
    names = ("TOYA", "CPU", "NPY", "NULL", "PYTHON")
    assert [has_queues(name) for name in names] == [True, False, False, False, False]
    assert [is_host_memory(name) for name in names] == [False, True, True, False, True]
    assert Device["TOYA"].type == "TOYA"
