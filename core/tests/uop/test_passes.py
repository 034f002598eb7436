"""Faults planted in each stage before and after code generation are errors of that stage.

The passes of code generation have theirs in `codegen/test_verification.py`, the stages of hardware
queues in `conformance/tests/refdev/test_planted_passes.py`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hcq_utils import add_kernel, call, linear, storage

import tg_core
from tg_core.callify import callify
from tg_core.config import Context
from tg_core.device import new_buffer_uop
from tg_core.dtype import dtypes
from tg_core.engine.compile_calls import compile_calls
from tg_core.errors import SpecError
from tg_core.hcq import batch, parametrize
from tg_core.schedule import schedule_body
from tg_core.uop.ops import KernelInfo, Ops, ProgramInfo, UOp
from tg_core.uop.passes import run_pass, verified
from tg_core.uop.record import recording

SIZE = 16
QUEUE_STAGES = {
    "schedule-submits",
    "pm_batch of {device}",
    "submission-program",
    "{hook} of {name}",
}


@pytest.fixture(autouse=True)
def _faults_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tg_core.uop.uop.creation_check", [])


def two_widths(size: int = SIZE) -> UOp:
    """Return an ADD of float32 and float64, which no stage allows."""
    value = UOp.param(7, dtypes.float32, (size,), "CPU")
    return UOp(Ops.ADD, (value, UOp(Ops.CAST, (value,), dtypes.float64)))


def graph() -> UOp:
    """Return a sum of rows that is read twice, so that there is more than one kernel."""
    a = new_buffer_uop("CPU", SIZE * SIZE, dtypes.float32).reshape(SIZE, SIZE)
    total = a.rop(Ops.ADD, (0,)).contiguous()
    target = new_buffer_uop("CPU", SIZE, dtypes.float32)
    value = (total + total.flip((0,))).reshape(SIZE)
    return UOp.sink(target.after(target.store(value)))


def schedule() -> UOp:
    with Context(SCACHE=0):
        return schedule_body(callify(graph()).src[0], "CPU")


def compiled() -> UOp:
    return linear(call(add_kernel(1.0), storage(0), storage(1)))


def number(entry: UOp) -> int:
    return entry.arg.slot


# ---- faults: each takes the result of a stage, and returns an illegal one


def in_a_graph(sink: UOp) -> UOp:
    place = UOp.param(8, dtypes.float64, (SIZE,), "CPU")
    return sink.replace(src=(*sink.src, place.store(two_widths())))


def in_a_kernel(calls: UOp) -> UOp:
    target, source = (
        UOp.param(slot, dtype, (SIZE,), "CPU")
        for slot, dtype in enumerate((dtypes.float64, dtypes.float32))
    )
    load = source.index(UOp.const(0)).load()
    wrong = UOp(Ops.ADD, (load, UOp(Ops.CAST, (load,), dtypes.float64)))
    kernel = UOp.sink(target.index(UOp.const(0)).store(wrong), arg=KernelInfo("wrong"))
    return calls.replace(src=(*calls.src, UOp.call(kernel, target, source)))


def a_value_for_a_call(calls: UOp) -> UOp:
    return calls.replace(src=(*calls.src, UOp.const(1.0)))


def an_argument_less(calls: UOp) -> UOp:
    first = calls.src[0]
    return calls.replace(src=(first.replace(src=first.src[:-1]), *calls.src[1:]))


def an_argument_of_another_width(calls: UOp) -> UOp:
    first = calls.src[0]
    wrong = UOp.param(0, dtypes.float64, first.src[1].shape, "CPU")
    return calls.replace(src=(first.replace(src=(first.src[0], wrong, *first.src[2:])),))


def a_computed_argument(calls: UOp) -> UOp:
    first = calls.src[0]
    wrong = first.src[1] + 1.0
    return calls.replace(src=(first.replace(src=(first.src[0], wrong, *first.src[2:])),))


Fault = Callable[[UOp], UOp]
KERNEL_FAULTS: tuple[tuple[Fault, str], ...] = (
    (in_a_kernel, r"ADD violates spec_shared"),
    (a_value_for_a_call, r"LINEAR violates spec_calls"),
    (an_argument_less, r"CALL violates spec_calls .*the body has parameter"),
    (an_argument_of_another_width, r"CALL violates spec_calls .*float64, its parameter float32"),
    (a_computed_argument, r"CALL violates spec_calls .*is no storage"),
)
GRAPH_FAULTS: tuple[tuple[Fault, str], ...] = ((in_a_graph, r"ADD violates spec_tensor"),)

SCHEDULING: dict[str, tuple[str, tuple[tuple[Fault, str], ...]]] = {
    "prepare-graph": ("prepare_graph", GRAPH_FAULTS),
    "lower-scatters": ("lower_scatters", GRAPH_FAULTS),
    "drop-dead-writes": ("drop_dead_writes", GRAPH_FAULTS),
    "insert-temporaries": ("insert_temporaries", GRAPH_FAULTS),
    "order-kernels": ("_in_order", KERNEL_FAULTS),
    "plan-memory": ("plan_memory", KERNEL_FAULTS),
}
CASES = [
    pytest.param(stage, function, fault, message, id=f"{stage}-{fault.__name__}")
    for stage, (function, faults) in SCHEDULING.items()
    for fault, message in faults
]


def check(stage: str, message: str, run: Callable[[], object]) -> None:
    with Context(SPEC=1), pytest.raises(SpecError) as caught:
        run()
    text = str(caught.value)
    assert re.match(f"{stage}: {message}", text), text
    assert "\n  node: " in text, "the node is shown"


@pytest.mark.parametrize(("stage", "function", "fault", "message"), CASES)
def test_scheduling(
    monkeypatch: pytest.MonkeyPatch, stage: str, function: str, fault: Fault, message: str
) -> None:
    module = importlib.import_module("tg_core.schedule.make_schedule")
    healthy = getattr(module, function)

    def planted(*arguments: object) -> UOp:
        return fault(healthy(*arguments))

    monkeypatch.setattr(module, function, planted)
    check(stage, message, schedule)


def test_callify(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(node: UOp, slot: int) -> UOp:
        return two_widths(node.shape[0])

    monkeypatch.setattr(importlib.import_module("tg_core.callify.callify"), "_as_param", planted)
    check("callify", "ADD violates spec_tensor", lambda: callify(graph()))


def test_compile_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(kernels: list[tuple[UOp, object]]) -> list[UOp]:
        wrong = UOp(Ops.BINARY, (), b"")
        return [UOp(Ops.PROGRAM, (wrong, kernel), ProgramInfo("wrong")) for kernel, _ in kernels]

    scheduled = schedule()
    module = importlib.import_module("tg_core.engine.compile_calls")
    monkeypatch.setattr(module, "compile_programs", planted)
    check("compile-calls", "PROGRAM violates", lambda: compile_calls(scheduled))


def test_expand_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("tg_core.schedule.expand_shards")
    healthy = module._expanded

    def planted(node: UOp, partials: object) -> UOp:
        found = healthy(node, partials)
        return two_widths() if node.op is Ops.COPY else found

    monkeypatch.setattr(module, "_expanded", planted)
    spread = UOp(Ops.COPY, (new_buffer_uop("CPU", SIZE, dtypes.float32),), ("CPU", "CPU:1"))
    check("expand-shards", "ADD violates spec_tensor", lambda: module.expand_shards([spread]))


def test_parametrize(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(argument: UOp, base: UOp, new: UOp) -> UOp:
        return UOp(Ops.ADD, (new, UOp(Ops.CAST, (new,), dtypes.float64)))

    calls = compiled()
    monkeypatch.setattr(importlib.import_module("tg_core.hcq.parametrize"), "_with_base", planted)
    check("parametrize", "ADD violates", lambda: parametrize([(calls, range(9), number)]))


def test_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("tg_core.hcq.batch")
    healthy = module._batch_of

    def planted(calls: list[UOp], kind: str) -> UOp:
        joined = healthy(calls, kind)
        return joined.replace(src=joined.src[:-1])

    calls = compiled()
    monkeypatch.setattr(module, "_batch_of", planted)
    check("batch", "CALL violates spec_calls .*the body has parameter 1", lambda: batch(calls))


def test_nothing_is_verified_without_being_asked_for() -> None:
    fault = two_widths()
    with Context(SPEC=0):
        assert verified("some-pass", "tensor", fault) is fault
    with Context(SPEC=1), pytest.raises(SpecError, match=r"^some-pass: ADD violates spec_tensor"):
        verified("some-pass", "tensor", fault)


def test_a_pass_is_recorded_even_when_it_is_refused() -> None:
    sink = UOp.sink()
    with recording() as recorded, Context(SPEC=1), pytest.raises(SpecError, match=r"^some-pass"):
        run_pass("some-pass", "tensor", sink, in_a_graph, sink)
    (stage,) = recorded.stages
    assert (stage.name, stage.before) == ("some-pass", sink)
    assert stage.after is not None


def test_every_stage_has_its_fault() -> None:
    """A stage that is added is listed here with a fault of its own."""
    root = Path(tg_core.__file__).parent
    pattern = re.compile(r"\b(?:run_pass|verified)\(\s*f?\"([^\"]+)\"")
    text = "".join(path.read_text() for path in sorted(root.rglob("*.py")))
    found = set(pattern.findall(text)) | {"{hook} of {name}"}
    here = {*SCHEDULING, "callify", "compile-calls", "expand-shards", "parametrize", "batch"}
    assert found == here | QUEUE_STAGES
