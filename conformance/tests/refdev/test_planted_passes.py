"""Faults planted in each stage of hardware queues are errors of that stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tg_core import Device, Tensor
from tg_core.config import Context
from tg_core.dtype import dtypes
from tg_core.engine import realize
from tg_core.errors import SpecError
from tg_core.hcq import link_queues, submits
from tg_core.hcq.encode import submission
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

NAME = "REF:7"


@pytest.fixture
def hooks() -> Iterator[dict[str, object]]:
    """Give the kept answers of the hooks of a device, to be replaced for one test."""
    device = Device[NAME]
    saved = dict(device.hook_results)
    forget_encoded()
    yield device.hook_results
    forget_encoded()
    device.hook_results.clear()
    device.hook_results.update(saved)


@pytest.fixture(autouse=True)
def _faults_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tg_core.uop.uop.creation_check", [])


def forget_encoded() -> None:
    link_queues._templates.clear()
    realize._linked.clear()


def check(stage: str, message: str) -> None:
    """Run a kernel, which must be refused by a stage."""
    a = Tensor(np.arange(4, dtype=np.float32)).to(NAME)
    with Context(SPEC=1), pytest.raises(SpecError) as caught:
        (a + 2).numpy()
    text = str(caught.value)
    assert re.match(f"{stage}: {message}", text), text
    assert "\n  node: " in text, "the node is shown"


def value_without_address(queue: UOp) -> UOp:
    wrong = UOp(Ops.INS, (UOp.const(0), UOp.const(1)), "store")
    return queue.replace(src=(*queue.src, wrong))


def unknown_instruction(queue: UOp) -> UOp:
    return queue.replace(src=(UOp(Ops.INS, (), "jump"), *queue.src))


def value_among_operations(queue: UOp) -> UOp:
    return queue.replace(src=(*queue.src, UOp.const(1)))


def address_of_a_value(queue: UOp) -> UOp:
    place = UOp(Ops.GETADDR, (UOp.const(1.0),), (NAME, 0))
    return queue.replace(src=(*queue.src, UOp(Ops.INS, (place, UOp.const(1)), "wait")))


FAULTS: list[tuple[Callable[[UOp], UOp], str]] = [
    (value_without_address, "INS violates spec_queue .*takes an address, found CONST"),
    (unknown_instruction, "INS violates spec_queue .*found 'jump'"),
    (value_among_operations, "LINEAR violates spec_queue .*found CONST"),
    (address_of_a_value, "GETADDR violates spec_queue .*that of storage"),
]
IDS = [fault.__name__ for fault, _ in FAULTS]


@pytest.mark.usefixtures("hooks")
@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=IDS)
def test_what_queues_are_given(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[UOp], UOp], message: str
) -> None:
    healthy = submits._hooked

    def planted(devices: tuple[str, ...], linears: list[UOp]) -> tuple[UOp, ...]:
        return healthy(devices, [fault(queue) for queue in linears])

    monkeypatch.setattr(submits, "_hooked", planted)
    check("schedule-submits", message)


@pytest.mark.parametrize(("fault", "message"), FAULTS, ids=IDS)
def test_rules_of_a_plugin_for_batches(
    hooks: dict[str, object], fault: Callable[[UOp], UOp], message: str
) -> None:
    def planted(ctx: object, sink: UOp) -> UOp:
        return sink.replace(src=tuple(fault(queue) for queue in sink.src))

    hooks["pm_batch"] = PatternMatcher([(UPat(Ops.SINK, name="sink"), planted)])
    check(f"pm_batch of {NAME}", message)


def two_widths(node: UOp) -> UOp:
    value = UOp.param(7, dtypes.int64, (4,)).index(UOp.const(0)).load()
    wrong = UOp(Ops.ADD, (value, UOp(Ops.CAST, (value,), dtypes.int32)))
    store = UOp.param(8, dtypes.int64, (4,)).index(UOp.const(0)).store(wrong)
    return node.replace(src=(*node.src, store))


@pytest.mark.usefixtures("hooks")
def test_the_host_program(monkeypatch: pytest.MonkeyPatch) -> None:
    healthy = submission._Body.sink

    def planted(self: submission._Body) -> UOp:
        return two_widths(healthy(self))

    monkeypatch.setattr(submission._Body, "sink", planted)
    check("submission-program", "ADD violates spec_shared .*int64 and int32")


@pytest.mark.parametrize("hook", ["pm_encode", "pm_lower"])
def test_rules_of_a_plugin_for_host_programs(hook: str, hooks: dict[str, object]) -> None:
    def planted(ctx: object, node: UOp) -> UOp | None:
        changed = two_widths(node)
        return None if node.src[-1] is changed.src[-1] else changed

    hooks[hook] = PatternMatcher([(UPat(Ops.SINK, name="node"), planted)])
    check(f"{hook} of {NAME}", "ADD violates spec_shared .*int64 and int32")
