"""Batches for hardware queues as steps: whose memory they take, what they report, and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from toy_queues import ToyDevice, toys

from tg_core import Tensor, TinyJit
from tg_core.codegen.compile import clear_compiled
from tg_core.config import Context
from tg_core.device import Device
from tg_core.engine import realize
from tg_core.engine.realize import LinkedLinear
from tg_core.engine.steps import LARGE_BATCH, QueueStep
from tg_core.hcq import compile as hcq_compile
from tg_core.hcq import link_queues
from tg_core.support import trace

A = "TOYA"


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


def toy() -> ToyDevice:
    found = Device[A]
    assert isinstance(found, ToyDevice)
    return found


def on_toy(values: np.ndarray) -> Tensor:
    return Tensor(values).to(A).realize()


def chain(x: Tensor, kernels: int) -> Tensor:
    for _ in range(kernels):
        x = (x + 1).contiguous()
    return x


def linked_linears(kernels: int) -> list[LinkedLinear]:
    return [
        linked
        for linked in realize._linked.values()
        if any(isinstance(s, QueueStep) and len(s.call.src[0].src) == kernels for s in linked.steps)
    ]


@pytest.mark.parametrize(("kernels", "pooled"), [(LARGE_BATCH, True), (LARGE_BATCH - 1, False)])
def test_large_batches_borrow_their_memory_for_the_first_run(kernels: int, pooled: bool) -> None:
    realize._linked.clear()
    x = on_toy(np.zeros(4, np.float32))
    kept: list[bool] = []
    for _ in range(3):
        assert chain(x, kernels).realize().numpy().tolist() == [float(kernels)] * 4
        (linked,) = linked_linears(kernels)
        (step,) = linked.steps
        assert isinstance(step, QueueStep)
        pools = {pool.memory for pool in toy()._pools.values()}
        kept.append(step.linked._commands[0].root in pools)
    assert kept == [pooled, False, False]


def test_captures_keep_memory_of_their_own() -> None:
    made = TinyJit(lambda x: chain(x, LARGE_BATCH + 6).realize())
    for _ in range(4):
        result = made(on_toy(np.ones(4, np.float32)))
    assert result.numpy().tolist() == [LARGE_BATCH + 7.0] * 4
    replay = made.captured.replay
    (step,) = replay._linked.steps
    pools = {pool.memory for pool in toy()._pools.values()}
    assert step.linked._commands[0].root not in pools
    assert step.linked._slots[0].root not in pools


def test_profiles_hold_every_call_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch stays whole: times are those of the device, on the host's clock."""
    events: list[tuple[str, str, float, float]] = []

    def note(name: str, kind: str, started: float, seconds: float, *rest: object) -> None:
        events.append((name, kind, started, seconds))

    made = TinyJit(lambda x: ((x + 1).contiguous() * 2).contiguous().to("TOYA:1").realize())
    for _ in range(3):
        made(on_toy(np.ones(4, np.float32)))
    monkeypatch.setattr("tg_core.engine.steps.add_event", note)
    with Context(PROFILE=1):
        for _ in range(2):
            events.clear()
            made(on_toy(np.ones(4, np.float32)))
    (step,) = made.captured.replay._linked.steps
    assert step._singles is None
    kinds = [kind for _, kind, _, _ in events[-3:]]
    assert kinds == ["kernel", "kernel", "copy"]
    (_, _, first, one), (_, _, second, two), (_, _, _, copied) = events[-3:]
    assert first + one <= second + 1e-12
    assert min(one, two, copied) > 0
    assert trace.add_event is not note


def test_a_file_holds_the_host_programs_of_queues(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    weights = on_toy(np.arange(4, dtype=np.float32))

    def step(x: Tensor) -> Tensor:
        return ((x * weights).contiguous() + 1).to("TOYA:2").realize()

    made = TinyJit(step)
    for _ in range(3):
        made(on_toy(np.ones(4, np.float32)))
    path, argument = tmp_path / "step.tgjit", on_toy(np.full(4, 3, np.float32))
    made.save(path)
    link_queues._templates.clear()
    hcq_compile._compiled.clear()
    clear_compiled()

    def refuse(self: object, source: str) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(type(Device["CPU"].renderer), "compile", refuse)
    monkeypatch.setattr(type(Device[A].renderer), "compile", refuse)
    with Context(CACHE=0):
        found = TinyJit.load(path)(argument)
    assert found.numpy().tolist() == [1.0, 4.0, 7.0, 10.0]
