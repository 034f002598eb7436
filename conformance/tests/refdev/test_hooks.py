"""A plugin's own rules take part in batching, encoding and linking."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tg_core import Device, Tensor
from tg_core.engine import realize
from tg_core.hcq import link_queues
from tg_core.uop.ops import Ops, PatternMatcher, UOp, UPat

NAME = "REF:7"
HOOKS = ("pm_batch", "pm_encode", "pm_lower", "pm_bufferize")


@pytest.fixture
def results() -> Iterator[dict[str, object]]:
    """Give the kept answers of the hooks of a device, to be replaced for one test."""
    device = Device[NAME]
    saved = dict(device.hook_results)
    forget_encoded()
    yield device.hook_results
    forget_encoded()
    device.hook_results.clear()
    device.hook_results.update(saved)


def forget_encoded() -> None:
    link_queues._templates.clear()
    realize._linked.clear()


def run() -> None:
    a = Tensor(np.arange(4, dtype=np.float32)).to(NAME).realize()
    assert (a + 2).numpy().tolist() == [2.0, 3.0, 4.0, 5.0]


def test_batches_can_be_changed(results: dict[str, object]) -> None:
    seen: list[UOp] = []

    def more_barriers(ctx: object, sink: UOp) -> UOp:
        assert ctx is Device[NAME]
        seen.append(sink)
        barrier = UOp(Ops.INS, (), "barrier")
        return sink.replace(src=tuple(q.replace(src=(barrier, *q.src)) for q in sink.src))

    results["pm_batch"] = PatternMatcher([(UPat(Ops.SINK, name="sink"), more_barriers)])
    run()
    assert seen
    assert all(queue.op is Ops.LINEAR for sink in seen for queue in sink.src)


def test_placeholders_can_be_given_memory(results: dict[str, object]) -> None:
    asked: list[object] = []

    def own_timeline(ctx: object, node: UOp) -> object:
        asked.append(node.tag[0])
        return ctx.timeline.buffer if node.tag[0] == "timeline" else None

    results["pm_bufferize"] = PatternMatcher([(UPat(Ops.PARAM, name="node"), own_timeline)])
    run()
    assert {"timeline", "queue", "program"} <= set(asked)


@pytest.mark.parametrize("hook", ["pm_encode", "pm_lower"])
def test_the_host_program_can_be_rewritten(hook: str, results: dict[str, object]) -> None:
    seen: list[str] = []

    def look(ctx: object, node: UOp) -> None:
        assert ctx is Device[NAME]
        seen.append(node.arg.name)

    results[hook] = PatternMatcher([(UPat(Ops.PARAM, name="node"), look)])
    run()
    assert "timeline" in seen
    assert "queue_compute_0_doorbell" in seen
