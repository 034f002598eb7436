"""The host program of a batch: everything or nothing, in one order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from toy_queues import ToyDevice, toys

from tg_core.device import Buffer, Device
from tg_core.dtype import dtypes
from tg_core.hcq import batch, link_submits, schedule_submits
from tg_core.hcq.encode import PATCH_WORDS, Layout, encode_streams, submission_program
from tg_core.hcq.run_queues import LinkedSubmits
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

SIZE = 16
A = "TOYA"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def device(name: str = A) -> ToyDevice:
    found = Device[name]
    assert isinstance(found, ToyDevice)
    return found


def copy(first: int, second: int, name: str = A) -> UOp:
    ends = [UOp.param(slot, dtypes.float32, (SIZE,), name) for slot in (first, second)]
    return UOp.call(UOp(Ops.COPY, (ends[1],), name), *ends)


def batch_of(*calls: UOp) -> UOp:
    (joined,) = batch(UOp(Ops.LINEAR, calls)).src
    return joined


def program_of(*calls: UOp) -> tuple[UOp, list[UOp]]:
    submits = schedule_submits(batch_of(*calls))
    _, placed = encode_streams(submits)
    return submission_program(submits, placed)[:2]


def filled(value: float) -> Buffer:
    return Buffer(A, SIZE, dtypes.float32).copyin(np.full(SIZE, value, np.float32).tobytes())


def call_once(linked: LinkedSubmits) -> int:
    """Call the host program as it is; returns whether it did anything."""
    linked._program(linked._opaques, (), (1, 1, 1), (1, 1, 1))
    return int(linked._status[0])


def test_the_layout_of_the_table() -> None:
    layout = Layout(2, 3)
    assert (layout.submits, layout.patches, layout.values) == (3, 12, 16)
    assert PATCH_WORDS == 4


def test_arguments_are_the_tables_and_then_memory_by_name() -> None:
    body, placeholders = program_of(copy(0, 1))
    assert [node.tag for node in placeholders[:2]] == [("host", "inputs"), ("host", "patches")]
    rest = {node.tag for node in placeholders[2:]}
    parts = ("ring", "read_ptr", "put_value", "doorbell")
    assert rest == {
        ("timeline",),
        ("slots",),
        ("commands",),
        *[("queue", "COPY", 0, part) for part in parts],
    }
    slots = [node.arg.slot for node in body.toposort() if node.op is Ops.PARAM]
    assert sorted(slots) == list(range(len(placeholders)))


def test_equal_queues_have_one_program() -> None:
    first, _ = program_of(copy(0, 1))
    second, _ = program_of(copy(0, 1), copy(2, 0), copy(1, 2))
    assert first is second
    other, _ = program_of(copy(0, 1), copy(2, 3, "TOYA:1"))
    assert other is not first


def test_it_does_nothing_while_the_last_run_is_not_over() -> None:
    toy = device()
    linked = link_submits(batch_of(copy(0, 1)), {})
    target, source = filled(0), filled(4)
    assert linked.run([target, source])
    given = toy.timeline.given
    put = toy.queue("COPY", 0).put_value.opaque.host_bytes().cast("Q")
    before = (
        put[0],
        list(linked._slot_views[0]),
        linked._commands[0].opaque.host_bytes().tobytes(),
    )
    assert toy.timeline.signal < given
    assert call_once(linked) == 0
    after = (put[0], list(linked._slot_views[0]), linked._commands[0].opaque.host_bytes().tobytes())
    assert (toy.timeline.given, after) == (given, before)
    toy.synchronize()
    assert call_once(linked) == 1
    assert (toy.timeline.given, linked._status[1]) == (given + 1, given)
    toy.synchronize()


def test_it_does_nothing_while_a_ring_is_full() -> None:
    toy = device()
    linked = link_submits(batch_of(copy(0, 1)), {})
    linked.run([filled(0), filled(1)])
    toy.synchronize()
    queue = toy.queue("COPY", 0)
    read = queue.read_ptr.opaque.host_bytes().cast("Q")
    put = queue.put_value.opaque.host_bytes().cast("Q")
    at = read[0]
    read[0] = (put[0] - queue.ring.size + 3) & (1 << 64) - 1
    given = toy.timeline.given
    assert call_once(linked) == 0
    assert toy.timeline.given == given
    read[0] = at
    assert call_once(linked) == 1
    toy.synchronize()


def test_signals_are_set_back_before_the_doorbell() -> None:
    toy = device()
    linked = link_submits(batch_of(copy(0, 1), copy(2, 3, "TOYA:1")), {})
    assert linked.submits.slots == {A: 2, "TOYA:1": 2}
    for device_slots in linked._slot_views:
        device_slots[2] = 99
    buffers = [filled(0), filled(1)]
    other = [Buffer("TOYA:1", SIZE, dtypes.float32).copyin(bytes(4 * SIZE)) for _ in range(2)]
    assert linked.run([*buffers, *other])
    assert [cells[2] for cells in linked._slot_views] == [0, 0]
    toy.synchronize()


def test_rules_of_the_devices_see_the_whole_program(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[str]] = {"pm_encode": [], "pm_lower": []}

    def note(hook: str) -> PatternMatcher:
        def look(ctx: object, node: UOp) -> None:
            assert ctx is device()
            seen[hook].append(node.arg.name)

        return PatternMatcher([(UPat(Ops.PARAM, name="node"), look)])

    for hook in seen:
        monkeypatch.setitem(device().hook_results, hook, note(hook))
    program_of(copy(0, 1))
    for names in seen.values():
        assert {"timeline", "queue_copy_0_doorbell"} <= set(names)


def test_what_encoding_marks_lowering_may_turn_into_stores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An encode rule adds a private mark after the doorbell, a lower rule makes a store of it."""
    memory = Buffer("CPU", 1, dtypes.uint64).copyin(bytes(8))
    place = UOp.param(-1, dtypes.uint64, (1,)).replace(tag=("mine",))

    def mark(ctx: object, node: UOp) -> UOp | None:
        if any(s.op is Ops.INS for s in node.src):
            return None
        return node.replace(src=(*node.src, UOp(Ops.INS, (), "mark")))

    def lower(ctx: object, node: UOp) -> UOp:
        return place.index(UOp.const(0)).store(UOp.const(42, dtypes.uint64))

    def bufferize(ctx: object, node: UOp) -> Buffer | None:
        return memory if node.tag == ("mine",) else None

    results = device().hook_results
    monkeypatch.setitem(results, "pm_encode", PatternMatcher([(UPat(Ops.SINK, name="node"), mark)]))
    monkeypatch.setitem(
        results,
        "pm_lower",
        PatternMatcher([(UPat(Ops.INS, name="node", arg="mark"), lower)]),
    )
    monkeypatch.setitem(
        results, "pm_bufferize", PatternMatcher([(UPat(Ops.PARAM, name="node"), bufferize)])
    )
    linked = link_submits(batch_of(copy(0, 1), copy(2, 1)), {})
    assert linked.run([filled(0), filled(1), filled(2)])
    assert memory.numpy().tolist() == [42]
    device().synchronize()
