"""Copies between devices that do not reach each other's memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import MACHINE, PlainToy, ToyAllocator, ToyDevice, WideToy, toys

from tg_core import Tensor, TinyJit
from tg_core.device import Buffer, BufferOptions, Device
from tg_core.device.queues import HCQBuffer
from tg_core.device.queues.encoder import placeholder
from tg_core.dtype import dtypes
from tg_core.hcq import batch, link_queues, link_submits, schedule_submits
from tg_core.hcq.staging import part_of, slot_bytes, stage_copies, staging_of
from tg_core.support.emulation import Rights
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def copy_call(target: str, source: str, nbytes: int, first: int = 0) -> UOp:
    ends = [
        UOp.param(first + i, dtypes.uint8, (nbytes,), name)
        for i, name in enumerate((target, source))
    ]
    return UOp.call(UOp(Ops.COPY, (ends[1],), target), *ends)


def queued(name: str) -> ToyDevice:
    device = Device[name]
    assert isinstance(device, ToyDevice)
    return device


def on(device: str, data: np.ndarray) -> Buffer:
    return Buffer(device, data.nbytes, dtypes.uint8).copyin(data.tobytes())


def test_only_copies_between_the_two_types_are_staged() -> None:
    calls = [copy_call(*ends, 64) for ends in (("TOYA", "TOYA:1"), ("CPU", "TOYA"))]
    assert stage_copies(UOp(Ops.LINEAR, tuple(calls))) == list(enumerate(calls))
    staged = copy_call("TOYB", "TOYA", 64)
    found = stage_copies(UOp(Ops.LINEAR, (*calls, staged)))
    assert [number for number, _ in found] == [0, 1, 2, 2]
    (_, into), (_, out) = found[2:]
    assert into.src[1] is out.src[2]
    staging = staging_of(queued("TOYA"))
    assert into.src[1].toposort()[0] is staging or staging in into.src[1].toposort()
    assert (into.src[2].device, out.src[1].device) == ("TOYA", "TOYB")


def test_pieces_take_the_slots_in_turn() -> None:
    device = queued("TOYB")
    length = slot_bytes(device)
    assert length == 2048
    calls = (copy_call("TOYA", "TOYB", 2 * length + 5), copy_call("TOYA", "TOYB", 7))
    found = stage_copies(UOp(Ops.LINEAR, calls))
    assert [number for number, _ in found] == [0] * 6 + [1] * 2
    slots = [call.src[1].marg[0] for _, call in found[::2]]
    assert slots == [(0, length), (length, 2 * length), (0, 5), (length, length + 7)]


def test_a_slot_waits_until_it_was_copied_out() -> None:
    length = slot_bytes(queued("TOYB"))
    (call,) = batch(UOp(Ops.LINEAR, (copy_call("TOYA", "TOYB", 3 * length),))).src
    submits = schedule_submits(call)
    # the third piece of the source waits for the first copy of the destination, number 2 of 6
    waits = [
        op.src[1].arg
        for queue, linear in zip(submits.queues, submits.linears)
        for op in linear.src
        if queue.device == "TOYB" and op.op is Ops.INS and op.arg == "wait"
    ]
    assert 2 in waits


@pytest.mark.parametrize("ends", [("TOYB", "TOYA"), ("TOYA", "TOYB"), ("TOYB:1", "TOYA:1")])
@pytest.mark.parametrize("nbytes", [1, 7, 2047, 2048, 2049, 4096, 18439])
def test_every_byte_arrives(ends: tuple[str, str], nbytes: int) -> None:
    target, source = ends
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    (call,) = batch(UOp(Ops.LINEAR, (copy_call(target, source, nbytes),))).src
    linked = link_submits(call, {})
    for seed in range(3):
        MACHINE.reseed(seed)
        there = Buffer(target, nbytes, dtypes.uint8).copyin(bytes(nbytes))
        assert linked.run([there, on(source, np.roll(data, seed))])
        assert there.numpy().tobytes() == np.roll(data, seed).tobytes()


@pytest.mark.parametrize("shift", [1, 3, 13, 127])
def test_views_at_odd_bytes(shift: int) -> None:
    data = np.random.default_rng(shift).integers(0, 256, 6000, np.uint8)
    whole = on("TOYA", data)
    there = Buffer("TOYB", 6000, dtypes.uint8).copyin(bytes(6000))
    nbytes = 5000
    (call,) = batch(UOp(Ops.LINEAR, (copy_call("TOYB", "TOYA", nbytes),))).src
    ends = [
        there.view(nbytes, dtypes.uint8, 2 * shift),
        whole.view(nbytes, dtypes.uint8, shift),
    ]
    assert link_submits(call, {}).run(ends)
    expected = np.zeros(6000, np.uint8)
    expected[2 * shift : 2 * shift + nbytes] = data[shift : shift + nbytes]
    assert there.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.float16])
def test_there_and_back(dtype: type) -> None:
    values = np.arange(4103).astype(dtype)
    a = Tensor(values).to("TOYA").realize()
    back = (a.to("TOYB") + 1).to("TOYA:1").to("TOYB:1").to("TOYA")
    np.testing.assert_array_equal((back * 2).numpy(), (values + dtype(1)) * dtype(2))


def test_replays_of_both_directions_agree_in_every_order() -> None:
    @TinyJit
    def step(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        c = (a + 1).to("TOYB") + b
        d = (b * 2).to("TOYA") + a
        return (c.to("TOYA") + d).realize(), (d.to("TOYB") - b).realize()

    rng = np.random.default_rng(0)
    for seed in range(8):
        MACHINE.reseed(seed)
        x, y = (rng.integers(-9, 9, 1500).astype(np.float32) for _ in range(2))
        first, second = step(Tensor(x).to("TOYA").realize(), Tensor(y).to("TOYB").realize())
        np.testing.assert_array_equal(first.numpy(), (x + 1 + y) + (2 * y + x))
        np.testing.assert_array_equal(second.numpy(), (2 * y + x) - y)


def test_staged_copies_are_timed_as_one() -> None:
    nbytes = 3 * slot_bytes(queued("TOYB"))
    calls = (copy_call("TOYA", "TOYB", nbytes), copy_call("TOYA", "TOYA", 64, 2))
    (call,) = batch(UOp(Ops.LINEAR, calls)).src
    linked = link_submits(call, {}, timed=True)
    buffers = [
        on(d, np.zeros(n, np.uint8))
        for d, n in (("TOYA", nbytes), ("TOYB", nbytes), ("TOYA", 64), ("TOYA", 64))
    ]
    linked.run(buffers, wait=True)
    times = linked.times()
    assert len(times) == 2
    assert all(start < end for start, end in times)


def test_staging_memory_is_small_for_tests_and_made_once() -> None:
    device = queued("TOYB")
    assert device.staging is device.staging
    assert device.staging.nbytes == WideToy.STAGING_BYTES
    assert device.staging.opaque.in_host


def test_a_device_may_bring_its_own_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it reaches the other, and makes pieces of the copies itself, through memory
    that it gives a name.
    """
    window = Buffer("TOYA", 512, dtypes.uint8, options=BufferOptions(host=True)).allocate()
    passing = placeholder(("window",), dtypes.uint8, 512, "TOYA")
    numbers: list[int] = []

    def by_window(ctx: object, sink: UOp) -> UOp:
        queues = []
        for queue in sink.src:
            ops: list[UOp] = []
            for op in queue.src:
                if op.op is not Ops.CALL or op.src[0].op is not Ops.COPY:
                    ops.append(op)
                    continue
                body, target, source = op.src
                for start in range(0, source.shape[0], 512):
                    size = min(512, source.shape[0] - start)
                    numbers.append(len(numbers))
                    there = part_of(passing, 0, size)
                    ops.append(op.replace(src=(body, there, part_of(source, start, size))))
                    ops.append(op.replace(src=(body, part_of(target, start, size), there)))
            queues.append(queue.replace(src=tuple(ops)))
        return sink.replace(src=tuple(queues))

    def own_window(ctx: object, node: UOp) -> Buffer | None:
        return window if node.tag == ("window",) else None

    results = queued("TOYA").hook_results
    monkeypatch.setattr(PlainToy, "reaches", lambda self, other: True)
    monkeypatch.setattr(ToyAllocator, "map_peer", map_any)
    batches = PatternMatcher([(UPat(Ops.SINK, name="sink"), by_window)])
    buffers = PatternMatcher([(UPat(Ops.PARAM, name="node"), own_window)])
    monkeypatch.setitem(results, "pm_batch", batches)
    monkeypatch.setitem(results, "pm_bufferize", buffers)
    link_queues._templates.clear()
    nbytes = 2100
    data = np.random.default_rng(3).integers(0, 256, nbytes, np.uint8)
    calls = (copy_call("TOYB", "TOYA", nbytes), copy_call("TOYA", "TOYA", 600, 2))
    (call,) = batch(UOp(Ops.LINEAR, calls)).src
    there, other = (
        Buffer(d, n, dtypes.uint8).copyin(bytes(n)) for d, n in (("TOYB", nbytes), ("TOYA", 600))
    )
    assert link_submits(call, {}).run([there, on("TOYA", data), other, on("TOYA", data[:600])])
    link_queues._templates.clear()
    assert there.numpy().tobytes() == data.tobytes()
    assert other.numpy().tobytes() == data[:600].tobytes()
    # numbered across the copies of the batch
    assert numbers == list(range(5 + 2))


def map_any(self: ToyAllocator, buffer: HCQBuffer) -> int:
    self.device.space.map(buffer.address, buffer.meta, Rights.BOTH, buffer.owner.name)
    return buffer.address
