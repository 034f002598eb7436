"""Operations of queues as words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from toy_queues import BARRIER, COPY, STORE, TIME, WAIT, ToyQueue, header, toys

from tg_core.codegen import compile_program
from tg_core.device import Device
from tg_core.device.queues.encoder import BLOB_ALIGNMENT
from tg_core.dtype import dtypes
from tg_core.errors import CompileError, DeviceError
from tg_core.hcq import batch, schedule_submits
from tg_core.hcq.encode import encode_streams, queue_device
from tg_core.hcq.encode.streams import encoder_of
from tg_core.hcq.enqueue import QueueName
from tg_core.hcq.submits import Submits
from tg_core.uop.ops import KernelInfo, Ops, UOp

SIZE = 16
A = "TOYA"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def storage(slot: int, size: int = SIZE) -> UOp:
    return UOp.param(slot, dtypes.float32, (size,), A)


def copy() -> UOp:
    return UOp.call(UOp(Ops.COPY, (storage(1),), A), storage(0), storage(1))


def scaled() -> UOp:
    """Return the call of a kernel with a variable, in as many groups as it says."""
    n = UOp.variable("n", 1, SIZE, slot=2)
    i = UOp.range(n, 0)
    value = storage(1).index(i).load() * n.cast(dtypes.float32)
    sink = UOp.sink(storage(0).index(i).store(value).end(i), arg=KernelInfo("scale", ()))
    program = compile_program(sink, Device[A].renderer)
    return UOp.call(program, storage(0), storage(1), UOp.variable("n", 1, SIZE, slot=2))


def submits_of(*calls: UOp, timed: bool = False) -> Submits:
    (call,) = batch(UOp(Ops.LINEAR, calls)).src
    return schedule_submits(call, timed=timed)


def test_operations_become_packets_in_order() -> None:
    memory, (placed, closing) = (
        encode_streams(submits_of(copy(), timed=True))[0],
        encode_streams(submits_of(copy(), scaled(), timed=True))[1],
    )
    assert closing.queue.kind == "COMPUTE"
    assert placed.queue.kind == "COPY"
    commands = memory[A]
    heads, at = [], 0
    words = memoryview(bytes(commands.data)).cast("I")
    while at < len(words):
        heads.append(words[at])
        at += words[at] & 0xFFFF
    assert heads == [header(op) for op in (BARRIER, WAIT, TIME, COPY, TIME, STORE)]


def test_lengths_are_known_and_addresses_are_not() -> None:
    memory, (placed,) = encode_streams(submits_of(copy()))
    data = bytes(memory[A].data)
    # barrier, wait, then the copy: header, two addresses, the length in bytes
    at = 4 * (1 + 5)
    assert int.from_bytes(data[at : at + 4], "little") == header(COPY)
    assert data[at + 4 : at + 20] == bytes(16)
    assert int.from_bytes(data[at + 20 : at + 28], "little") == 4 * SIZE
    unknown = dict(memory[A].patches)
    assert unknown[at + 4].op is Ops.GETADDR
    assert unknown[at + 4].arg == (A, 0)
    assert (placed.start, placed.nbytes) == (0, len(data))


def test_a_time_goes_into_the_second_word_of_its_slot() -> None:
    submits = submits_of(copy(), timed=True)
    memory, _ = encode_streams(submits)
    (timed,) = submits.timed
    offsets = [
        word.arg[1]
        for _, word in memory[A].patches
        if word.op is Ops.GETADDR and word.src[0].tag == ("slots",)
    ]
    assert offsets == [16 * timed.start + 8, 16 * timed.end + 8]


def test_arguments_of_kernels_lie_beside_the_commands() -> None:
    memory, (placed,) = encode_streams(submits_of(scaled()))
    commands = memory[A]
    assert placed.nbytes < len(commands.data)
    blobs = [
        word.arg[1]
        for _, word in commands.patches
        if word.op is Ops.GETADDR and word.src[0].tag == ("commands",)
    ]
    assert len(blobs) == 1
    assert blobs[0] % BLOB_ALIGNMENT == 0
    assert blobs[0] >= placed.nbytes
    behind = [word for offset, word in commands.patches if offset >= blobs[0]]
    # two addresses and the variable
    assert [word.op for word in behind[:2]] == [Ops.GETADDR] * 2
    assert behind[2].op is Ops.CAST
    assert len(behind) == 3


def test_waits_of_rules_reach_their_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(ToyQueue, "wait_equal", lambda self, *given: seen.extend(given))
    submits = submits_of(copy())
    place = submits.linears[0].src[1].src[0]
    wait = UOp(Ops.INS, (place, UOp.const(5)), "wait_eq")
    linears = (submits.linears[0].replace(src=(wait,)),)
    encode_streams(replace(submits, linears=linears))
    assert seen == [place, 5]


def test_each_queue_begins_aligned() -> None:
    memory, placed = encode_streams(submits_of(copy(), scaled()))
    assert len(placed) == 2
    assert placed[1].start % BLOB_ALIGNMENT == 0
    assert placed[1].start >= placed[0].nbytes
    assert list(memory) == [A]


def test_what_cannot_be_encoded_is_named() -> None:
    with pytest.raises(DeviceError, match="TOYA: no queue of kind VIDEO is registered"):
        encoder_of(QueueName(A, "VIDEO", 0))
    with pytest.raises(DeviceError, match="CPU: declares queues, but CPUDevice is no HCQCompiled"):
        queue_device("CPU")
    submits = submits_of(copy())
    odd = submits.linears[0].replace(src=(UOp(Ops.INS, (), "dance"),))
    broken = replace(submits, linears=(odd,))
    with pytest.raises(CompileError, match="queue COPY: no operation INS 'dance'"):
        encode_streams(broken)
