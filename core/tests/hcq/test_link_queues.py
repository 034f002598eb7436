"""Batches in memory: what is written when they are linked, and where."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import COPY, EXEC, MACHINE, ToyDevice, ToyQueue, header, toys

from tg_core.codegen import compile_program
from tg_core.device import Buffer, Device
from tg_core.device.queues import Stream
from tg_core.dtype import dtypes
from tg_core.errors import CompileError
from tg_core.hcq import batch, link_queues, link_submits
from tg_core.hcq.external import CFunction, ccall, cstruct, provide_functions, when
from tg_core.uop.ops import KernelInfo, Ops, PatternMatcher, UOp, UPat

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


def storage(slot: int, device: str = A, size: int = SIZE) -> UOp:
    return UOp.param(slot, dtypes.float32, (size,), device)


def kernel(target: int, source: int, amount: float = 1.0) -> UOp:
    """Return the call of `target = source + amount`."""
    out, given = storage(0), storage(1)
    i = UOp.range(SIZE, 0)
    value = given.index(i).load() + UOp.const(amount, dtypes.float32)
    sink = UOp.sink(out.index(i).store(value).end(i), arg=KernelInfo("plus", ()))
    program = compile_program(sink, Device[A].renderer)
    return UOp.call(program, storage(target), storage(source))


def copy(target: UOp, source: UOp) -> UOp:
    return UOp.call(UOp(Ops.COPY, (source,), A), target, source)


def batch_of(*calls: UOp) -> UOp:
    (joined,) = batch(UOp(Ops.LINEAR, calls)).src
    return joined


def filled(value: float, device: str = A) -> Buffer:
    data = np.full(SIZE, value, np.float32)
    return Buffer(device, SIZE, dtypes.float32).copyin(data.tobytes())


def words(linked: link_queues.LinkedSubmits) -> list[int]:
    return linked._commands[0].opaque.host_bytes().cast("I").tolist()


def patches(linked: link_queues.LinkedSubmits) -> list[list[int]]:
    table = linked._arguments[1].as_memoryview().cast("q").tolist()
    return [table[i : i + 4] for i in range(0, len(table), 4)]


def test_addresses_of_fixed_storage_are_written_once() -> None:
    target, source = filled(0), filled(3)
    call = batch_of(copy(storage(0), storage(1)))
    linked = link_submits(call, {0: target, 1: source})
    found = words(linked)
    at = found.index(header(COPY))
    ends = [target.opaque.address, source.opaque.address]
    expected = [half for end in ends for half in (end & 0xFFFFFFFF, end >> 32)]
    assert found[at + 1 : at + 7] == [*expected, 4 * SIZE, 0]
    # only the timeline changes from run to run: what is waited for and what is stored
    assert [source for _, source, _, _ in patches(linked)] == [1] * 4
    assert linked.inputs == ()
    linked.run([target, source])
    assert target.numpy().tolist() == [3.0] * SIZE


def test_storage_of_each_run_is_patched_in() -> None:
    call = batch_of(kernel(0, 1), kernel(2, 0))
    linked = link_submits(call, {})
    assert len(linked.inputs) == 3
    for value in (1.0, 5.0):
        buffers = [filled(0), filled(value), filled(0)]
        assert linked.run(buffers)
        assert [b.numpy()[0] for b in buffers] == [value + 1, value, value + 2]


def test_parts_of_storage_are_offsets_of_their_address() -> None:
    part = storage(0, size=2 * SIZE)._movement(Ops.SHRINK, ((SIZE, 2 * SIZE),))
    linked = link_submits(batch_of(copy(part, storage(1))), {})
    assert [addend for _, source, addend, _ in patches(linked) if source > 1][:2] == [4 * SIZE] * 2
    whole = Buffer(A, 2 * SIZE, dtypes.float32).copyin(bytes(8 * SIZE))
    assert linked.run([whole, filled(7)])
    assert whole.numpy().tolist() == [0.0] * SIZE + [7.0] * SIZE


def test_equal_batches_share_what_does_not_depend_on_memory() -> None:
    link_queues._templates.clear()
    call = batch_of(kernel(0, 1), kernel(1, 0))
    first, second = link_submits(call, {}), link_submits(call, {})
    assert len(link_queues._templates) == 1
    assert first.submits is second.submits
    assert first._commands[0] is not second._commands[0]
    link_submits(call, {0: filled(0)})
    assert len(link_queues._templates) == 2


def test_host_programs_depend_on_the_queues_and_not_on_the_commands() -> None:
    link_queues._templates.clear()
    for calls in ((kernel(0, 1),), (kernel(0, 1), kernel(1, 0), kernel(0, 1, 2.0))):
        link_submits(batch_of(*calls), {})
    bodies = {template.body for template in link_queues._templates.values()}
    assert len(bodies) == 1
    # one argument for each memory, however many kernels there are
    assert {len(t.placeholders) for t in link_queues._templates.values()} == {9}


def test_linking_makes_new_memory_unless_a_batch_runs_once() -> None:
    pools = toy()._pools
    pools.clear()
    call = batch_of(*[kernel(i % 2, 1 - i % 2) for i in range(65)])
    kept = link_submits(call, {})
    assert pools == {}
    linked = link_submits(call, {}, once=True)
    memory = {pool.memory for pool in pools.values()}
    assert len(memory) == 2
    assert linked._commands[0].root in memory
    assert linked._slots[0].root in memory
    assert kept._commands[0].root not in memory
    buffers = [filled(0), filled(0)]
    linked.run(buffers)
    assert buffers[0].numpy()[0] == 65


@pytest.mark.parametrize("seed", range(3))
def test_pooled_batches_follow_each_other_in_flight(seed: int) -> None:
    """More than the pool holds: it goes round several times."""
    MACHINE.reseed(seed)
    toy()._pools.clear()
    call = batch_of(*[kernel(i % 2, 1 - i % 2) for i in range(64)])
    buffers = [filled(0), filled(0)]
    rounds = 12
    starts = set()
    for _ in range(rounds):
        linked = link_submits(call, {}, once=True)
        starts.add((linked._commands[0].root, linked._commands[0].offset))
        assert linked.run(buffers)
    assert len(starts) < rounds
    assert buffers[1].numpy()[0] == 64 * rounds


def test_a_batch_that_nobody_keeps_goes_at_once() -> None:
    """Without the collector of cycles: its memory is to be given out again."""
    call = batch_of(kernel(0, 1))
    gc.disable()
    try:
        linked = link_submits(call, {}, once=True)
        linked.run([filled(0), filled(1)])
        toy().synchronize()
        batch_gone, memory_gone = weakref.ref(linked), weakref.ref(linked._commands[0])
        del linked
        assert (batch_gone(), memory_gone()) == (None, None)
    finally:
        gc.enable()


def test_what_a_plugin_says_of_placeholders_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def note(ctx: object, node: UOp) -> None:
        assert ctx is toy()
        asked.append(node.tag[0])

    rules = PatternMatcher([(UPat(Ops.PARAM, name="node"), note)])
    monkeypatch.setitem(toy().hook_results, "pm_bufferize", rules)
    link_submits(batch_of(kernel(0, 1)), {})
    assert {"timeline", "queue", "program"} <= set(asked)


def test_unknown_placeholders_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    link_queues._templates.clear()
    monkeypatch.setattr(
        ToyQueue,
        "submit",
        lambda self, stream: (
            self.part("none", 1)
            .index(UOp.const(0))
            .store(UOp.const(0, dtypes.uint64), stream.ready)
        ),
    )
    with pytest.raises(CompileError, match="TOYA: no memory is known for placeholder"):
        link_submits(batch_of(kernel(0, 1)), {})
    link_queues._templates.clear()


class Kick(ctypes.Structure):
    _fields_ = [
        ("commands", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("kind", ctypes.c_uint8 * 4),
        ("fence", ctypes.c_void_p),
    ]


def test_queues_may_be_pushed_by_calls_of_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """As drivers want it that take commands by ioctl: a structure and a call instead of a ring."""
    kicks: list[tuple[int, Kick]] = []
    submit = ToyQueue.submit

    def kick(fd: int, argument: int) -> int:
        kicks.append((fd, Kick.from_buffer_copy(ctypes.string_at(argument, ctypes.sizeof(Kick)))))
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
    provide_functions("toy driver", {"kick": kind(kick)})
    function = CFunction("kick", ctypes.c_int, (ctypes.c_int, ctypes.c_void_p), "toy driver")

    def by_call(self: ToyQueue, stream: Stream) -> UOp:
        timeline = self.part("put_value", 1)
        made = cstruct(
            Kick, commands=stream.address, count=stream.count, kind=b"toy", fence=timeline
        )
        pushed = submit(self, stream)
        return when(stream.ready, ccall(function, 7, made.after(pushed)), 50)

    link_queues._templates.clear()
    monkeypatch.setattr(ToyQueue, "submit", by_call)
    linked = link_submits(batch_of(kernel(0, 1)), {})
    for value in (1.0, 2.0):
        buffers = [filled(0), filled(value)]
        assert linked.run(buffers)
        assert buffers[0].numpy()[0] == value + 1
    link_queues._templates.clear()
    assert [fd for fd, _ in kicks] == [7, 7]
    made = kicks[1][1]
    found = words(linked)
    assert made.commands == linked._commands[0].opaque.address
    assert bytes(made.kind) == b"toy\0"
    assert header(EXEC) in found[: made.count]
    put = toy().queue("COMPUTE", 0).put_value
    assert made.fence == put.opaque.host_address


def test_a_second_link_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tg_core.hcq import compile as hcq_compile

    link_queues._templates.clear()
    call = batch_of(kernel(0, 1), kernel(1, 0))
    link_submits(call, {})
    link_queues._templates.clear()
    hcq_compile._compiled.clear()
    from tg_core.codegen.compile import clear_compiled

    clear_compiled()

    def refuse(self: object, source: str) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(type(Device["CPU"].renderer), "compile", refuse)
    buffers = [filled(0), filled(4)]
    assert link_submits(call, {}).run(buffers)
    assert buffers[1].numpy()[0] == 6
