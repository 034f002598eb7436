"""Copies of devices that have no queue for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from toy_queues import MACHINE, ToyDevice, ToyExecutor, ToyQueue, toys

from tg_core import Tensor, TinyJit
from tg_core.device import Buffer, Device
from tg_core.device.queues import HWQueue
from tg_core.dtype import dtypes
from tg_core.engine import realize
from tg_core.errors import DeviceError
from tg_core.hcq import link_queues
from tg_core.hcq.copy_kernels import copy_by_kernel
from tg_core.hcq.enqueue import QueueName, copy_queue_kind, queue_of
from tg_core.plugins import Capability
from tg_core.uop.ops import Ops, UOp

DEVICES = ("TOYA", "TOYA:1", "TOYB")
MAKERS = ("packets", "kernels", "host")


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


@pytest.fixture
def made_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[str]]]:
    """Choose who copies; what is returned fills with the packets that the devices execute."""

    def choose(maker: str) -> list[str]:
        for name in DEVICES:
            device = Device[name]
            assert isinstance(device, ToyDevice)
            kept = device.capabilities - {Capability.COPY_QUEUE, Capability.COMPUTE_COPIES}
            if maker != "host":
                kept |= {Capability.COMPUTE_COPIES}
            monkeypatch.setattr(device, "capabilities", kept)
            device.kept_links.clear()
        if maker == "kernels":
            monkeypatch.setattr(ToyQueue, "copy", HWQueue.copy)
        executed: list[str] = []
        for method in ("_exec", "_copy"):
            monkeypatch.setattr(ToyExecutor, method, noted(method, executed))
        link_queues._templates.clear()
        realize._linked.clear()
        return executed

    yield choose
    link_queues._templates.clear()
    realize._linked.clear()
    for name in DEVICES:
        Device[name].kept_links.clear()


def noted(method: str, executed: list[str]) -> Callable[..., None]:
    right = getattr(ToyExecutor, method)

    def note(self: ToyExecutor, *operands: object) -> None:
        assert self.kind == "COMPUTE"
        executed.append(method)
        right(self, *operands)

    return note


def copy_call(target: str, source: str, size: int, dtype: object = dtypes.uint8) -> UOp:
    ends = [UOp.param(i, dtype, (size,), name) for i, name in enumerate((target, source))]
    return UOp.call(UOp(Ops.COPY, (ends[1],), target), *ends)


def test_who_copies(made_by: Callable[[str], list[str]]) -> None:
    assert copy_queue_kind("TOYA") == "COPY"
    made_by("packets")
    call = copy_call("TOYA:1", "TOYA", 4)
    assert queue_of(call) == QueueName("TOYA", "COMPUTE", 0)
    assert copy_by_kernel(call, QueueName("TOYA", "COMPUTE", 0)) is call
    made_by("host")
    assert queue_of(call) is None
    assert copy_queue_kind("CPU") is None


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (copy_call("TOYA", "TOYA:1", 16), "uint32"),
        (copy_call("TOYA", "TOYA:1", 15), "uint8"),
        (copy_call("TOYA", "TOYA:1", 7, dtypes.float16), "uint16"),
        (copy_call("TOYA", "TOYA:1", 3, dtypes.float64), "uint32"),
        (copy_call("CPU", "TOYA", 16), "uint8"),
        (copy_call("TOYA", "PYTHON", 16, dtypes.float32), "uint8"),
    ],
)
def test_kernels_move_words_as_wide_as_they_may(
    call: UOp, word: str, made_by: Callable[[str], list[str]]
) -> None:
    made_by("kernels")
    made = copy_by_kernel(call, QueueName("TOYA", "COMPUTE", 0))
    assert made.src[0].op is Ops.PROGRAM
    assert [argument.dtype.name for argument in made.src[1:]] == [word] * 2


def test_parts_that_begin_anywhere_are_moved_as_bytes(
    made_by: Callable[[str], list[str]],
) -> None:
    made_by("kernels")
    body, target, source = copy_call("TOYA", "TOYA:1", 64).src
    for start, word in ((0, "uint32"), (2, "uint16"), (5, "uint8")):
        part = source.shrink(((start, start + 16),))
        call = UOp.call(body, target.shrink(((4, 20),)), part)
        made = copy_by_kernel(call, QueueName("TOYA", "COMPUTE", 0))
        assert made.src[2].dtype.name == word


@pytest.mark.parametrize("maker", MAKERS)
def test_tensors_go_to_devices_and_back(maker: str, made_by: Callable[[str], list[str]]) -> None:
    executed = made_by(maker)
    for seed, size in enumerate((1, 7, 64, 1000)):
        MACHINE.reseed(seed)
        values = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        there = Tensor(values).to("TOYA").realize()
        moved = there.to("TOYA:1").realize()
        assert moved.to("CPU").numpy().tolist() == values.tolist()
    wanted = {"packets": "_copy", "kernels": "_exec"}.get(maker)
    assert set(executed) == ({wanted} if wanted else set())


@pytest.mark.parametrize("maker", MAKERS)
def test_replays_copy_in_the_order_of_their_kernels(
    maker: str, made_by: Callable[[str], list[str]]
) -> None:
    made_by(maker)

    @TinyJit
    def around(x: Tensor) -> Tensor:
        y = (x.to("TOYA") + 1).to("TOYA:1") * 2
        return (y.to("TOYA") - 1).contiguous().realize()

    for turn in range(5):
        MACHINE.reseed(turn)
        values = np.arange(33, dtype=np.float32) + turn
        assert around(Tensor(values).realize()).numpy().tolist() == (values * 2 + 1).tolist()


@pytest.mark.parametrize("maker", ["packets", "kernels"])
def test_copies_between_types_are_staged(maker: str, made_by: Callable[[str], list[str]]) -> None:
    executed = made_by(maker)
    values = np.random.default_rng(1).integers(0, 256, 9001).astype(np.uint8)
    moved = Tensor(values).to("TOYA").realize().to("TOYB").realize()
    assert moved.numpy().tolist() == values.tolist()
    assert len(executed) > 4


@pytest.mark.parametrize("maker", MAKERS)
def test_memory_that_the_host_does_not_see(maker: str, made_by: Callable[[str], list[str]]) -> None:
    made_by(maker)
    data = np.arange(5000, dtype=np.int16)
    buffer = Buffer("TOYB", data.size, dtypes.int16).allocate()
    if maker == "host":
        with pytest.raises(DeviceError, match="and it no queue for copies"):
            buffer.copyin(data.tobytes())
        return
    buffer.copyin(data.tobytes())
    assert buffer.numpy().tolist() == data.tolist()
