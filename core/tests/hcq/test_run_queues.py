"""Runs of linked batches: inputs, memory of the host, times, and what goes wrong."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import MACHINE, ToyAllocator, ToyDevice, ToyExecutor, toys

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device, GlobalCounters
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq import batch, link_submits
from tg_core.support.emulation import PacketFault
from tg_core.uop.ops import KernelInfo, Ops, UOp

SIZE = 16
A = "TOYA"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def toy(name: str = A) -> ToyDevice:
    found = Device[name]
    assert isinstance(found, ToyDevice)
    return found


def storage(slot: int, device: str = A) -> UOp:
    return UOp.param(slot, dtypes.float32, (SIZE,), device)


def kernel(target: int, source: int) -> UOp:
    """Return the call of `target = target * 2 + source`."""
    out, given = storage(0), storage(1)
    i = UOp.range(SIZE, 0)
    value = out.index(i).load() * UOp.const(2.0, dtypes.float32) + given.index(i).load()
    sink = UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("step", ()))
    program = compile_program(sink, Device[A].renderer)
    return UOp.call(program, storage(target), storage(source))


def scaled(target: int, source: int, variable: int) -> UOp:
    """Return the call of `target = source * n`."""
    out, given = storage(0), storage(1)
    n = UOp.variable("n", 0, 1000, slot=2)
    i = UOp.range(SIZE, 0)
    value = given.index(i).load() * n.cast(dtypes.float32)
    sink = UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("scale", ()))
    program = compile_program(sink, Device[A].renderer)
    given_value = UOp.variable("n", 0, 1000, slot=variable)
    return UOp.call(program, storage(target), storage(source), given_value)


def copy(target: UOp, source: UOp) -> UOp:
    return UOp.call(UOp(Ops.COPY, (source,), A), target, source)


def batch_of(*calls: UOp) -> UOp:
    (joined,) = batch(UOp(Ops.LINEAR, calls)).src
    return joined


def filled(value: float, device: str = A) -> Buffer:
    data = np.full(SIZE, value, np.float32)
    return Buffer(device, SIZE, dtypes.float32).copyin(data.tobytes())


def test_values_of_variables_come_with_each_run() -> None:
    linked = link_submits(batch_of(scaled(0, 1, 2)), {})
    for value in (0, 3, 999):
        buffers = [filled(0), filled(2)]
        assert linked.run([*buffers, value])
        assert buffers[0].numpy()[0] == 2 * value


def test_storage_is_allocated_at_its_first_use() -> None:
    linked = link_submits(batch_of(copy(storage(0), storage(1))), {})
    target = Buffer(A, SIZE, dtypes.float32)
    assert linked.run([target, filled(6)])
    assert target.numpy().tolist() == [6.0] * SIZE


def test_storage_that_overlaps_unknown_to_the_order_declines() -> None:
    call = batch_of(kernel(0, 1), kernel(2, 1))
    linked = link_submits(call, {})
    a, b = filled(1), filled(2)
    assert not linked.run([a, b, a])
    assert a.numpy()[0] == 1
    assert linked.run([a, b, filled(0)])
    fixed = link_submits(call, {1: b})
    assert not fixed.run([b, b, filled(0)])


@pytest.mark.parametrize("seed", range(3))
def test_memory_of_the_host_is_mapped_as_long_as_it_lives(seed: int) -> None:
    MACHINE.reseed(seed)
    call = batch_of(copy(storage(0), storage(1, "CPU")), copy(storage(2, "CPU"), storage(0)))
    linked = link_submits(call, {})
    mapped = len(toy().hcq_allocator.host_mappings)
    target, source, between = filled(0, "CPU"), filled(9, "CPU"), filled(0)
    assert linked.run([between, source, target])
    # it is over when the run returns: the host may do what it likes
    assert target.numpy().tolist() == [9.0] * SIZE
    spaces = len(toy().space._mappings)
    for value in (3.0, 4.0):
        source.copyin(np.full(SIZE, value, np.float32).tobytes())
        assert linked.run([between, source, target])
        assert target.numpy().tolist() == [value] * SIZE
    assert len(toy().hcq_allocator.host_mappings) == mapped + 2
    assert len(toy().space._mappings) == spaces
    del source
    assert len(toy().hcq_allocator.host_mappings) == mapped + 1
    del target
    assert len(toy().hcq_allocator.host_mappings) == mapped


def test_memory_of_the_host_that_dies_in_flight_outlives_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C while the host waits leaves the batch in flight, and then its arrays die."""
    linked = link_submits(batch_of(copy(storage(0), storage(1, "CPU"))), {})
    target, source = filled(0), filled(9, "CPU")
    device = toy()
    device.synchronize()
    before = len(device.hcq_allocator.host_mappings)
    seen = weakref.ref(source)

    def interrupted(*seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(device, "synchronize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            linked.run([target, source])
    del source
    assert seen() is not None
    assert len(device.hcq_allocator.host_mappings) == before + 1
    assert target.numpy().tolist() == [9.0] * SIZE
    assert seen() is None
    assert len(device.hcq_allocator.host_mappings) == before


def test_memory_of_the_host_that_cannot_be_shown_declines(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, address: int, nbytes: int) -> int:
        raise DeviceError("no locked memory left")

    linked = link_submits(batch_of(copy(storage(0), storage(1, "CPU"))), {})
    monkeypatch.setattr(ToyAllocator, "map_host", refuse)
    target = filled(0)
    assert not linked.run([target, filled(1, "CPU")])
    assert target.numpy()[0] == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_runs_again_while_it_is_in_flight(seed: int) -> None:
    """The second run waits for the first: they have one set of commands."""
    MACHINE.reseed(seed)
    linked = link_submits(batch_of(kernel(0, 1)), {})
    target, source = filled(1), filled(1)
    for _ in range(5):
        assert linked.run([target, source])
    assert target.numpy()[0] == 2**6 - 1


def test_runs_are_counted() -> None:
    linked = link_submits(batch_of(kernel(0, 1), copy(storage(2), storage(0))), {})
    before = GlobalCounters.kernel_count
    linked.run([filled(0), filled(0), filled(0)])
    assert GlobalCounters.kernel_count == before + 1


def test_times_are_in_order_and_known_to_the_host() -> None:
    calls = (kernel(0, 1), kernel(0, 1), copy(storage(2), storage(0)))
    linked = link_submits(batch_of(*calls), {}, timed=True)
    for _ in range(3):
        assert linked.run([filled(0), filled(0), filled(0)], wait=True)
        first, second, copied = linked.times()
        assert first[0] < first[1] <= second[0] < second[1]
        assert copied[0] < copied[1]
    clock = toy().clock
    assert clock.low < clock.high
    for (start, _), (there, _) in zip(linked.times(), linked.host_times()):
        assert there == pytest.approx(start + clock.offset)


def test_without_times_there_are_none() -> None:
    linked = link_submits(batch_of(kernel(0, 1)), {})
    linked.run([filled(0), filled(0)], wait=True)
    assert linked.times() == []


def test_a_fault_names_its_place_and_leaves_other_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "TOYA:3"
    call = batch_of(
        UOp.call(UOp(Ops.COPY, (storage(1, name),), name), *[storage(i, name) for i in (0, 1)])
    )
    linked = link_submits(call, {})

    def broken(self: ToyExecutor, packet: list[int]) -> None:
        raise PacketFault(f"{self.name}: packet {packet[0]:#x}")

    buffers = [filled(0, name), filled(1, name)]
    with monkeypatch.context() as patched:
        patched.setattr(ToyExecutor, "_copy", broken)
        linked.run(buffers)
        with pytest.raises(DeviceError, match="TOYA:3: fault: TOYA:3 COPY:0: packet 0x30007"):
            toy(name).synchronize()
    with pytest.raises(DeviceError, match="TOYA:3: lost since an earlier error"):
        linked.run(buffers)
    other = link_submits(batch_of(kernel(0, 1)), {})
    target = filled(1)
    assert other.run([target, filled(1)])
    assert target.numpy()[0] == 3


def test_a_timeline_that_began_anew_lets_old_batches_run() -> None:
    linked = link_submits(batch_of(kernel(0, 1)), {})
    target, source = filled(1), filled(0)
    linked.run([target, source])
    device = toy()
    device.synchronize()
    device.timeline.start_over((1 << (device.SIGNAL_BITS - 1)) - 2)
    for _ in range(4):
        assert linked.run([target, source])
    assert target.numpy()[0] == 32
    assert device.timeline.given < 10


def test_threads_may_run_their_batches_at_once() -> None:
    """With queues that run freely, in threads of their own."""
    call = batch_of(kernel(0, 1), kernel(0, 1))
    results: dict[int, float] = {}

    def work(number: int) -> None:
        linked = link_submits(call, {})
        target, source = filled(number), filled(1)
        for _ in range(10):
            assert linked.run([target, source])
        results[number] = float(target.numpy()[0])

    toy().synchronize()
    with MACHINE.free_running():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {i: (i + 1) * 2.0**20 - 1 for i in range(4)}
