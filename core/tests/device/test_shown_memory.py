"""Copies and kernels of the host on memory that a queue is working on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from toy_queues import ToyDevice, toys

from tg_core import Tensor
from tg_core.device import Buffer, Device, buffer_of
from tg_core.device.shown_memory import SHOWN, hide_memory, note_host_access, show_memory
from tg_core.dtype import dtypes
from tg_core.errors import DeviceError
from tg_core.hcq import batch, link_submits
from tg_core.uop.ops import Ops, UOp

SIZE = 16
INDEX = iter(range(1, 100))


@pytest.fixture(autouse=True, scope="module")
def devices() -> Iterator[None]:
    with toys():
        yield


class Note:
    """A device that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, bool, str]] = []

    def host_memory_access(self, address: int, nbytes: int, write: bool, what: str) -> None:
        self.told.append((address, nbytes, write, what))


def host(value: float) -> Buffer:
    data = np.full(SIZE, value, np.float32)
    return Buffer("CPU", SIZE, dtypes.float32).copyin(data.tobytes())


def test_devices_hear_of_accesses_to_what_is_shown_to_them() -> None:
    buffer, other, device = host(1), host(2), Note()
    part = buffer.view(4, dtypes.float32, 16)
    show_memory(device, part.address(), part.nbytes)
    try:
        buffer.numpy()
        other.numpy()
        buffer.view(4, dtypes.float32, 0).numpy()
        note_host_access(part, True, "x")
    finally:
        hide_memory(device, part.address(), part.nbytes)
    assert device.told == [
        (buffer.address(), 4 * SIZE, False, "copyout"),
        (part.address(), 16, True, "x"),
    ]
    assert SHOWN == []


def test_kernels_of_the_host_are_told_one_by_one() -> None:
    x = Tensor(np.zeros(SIZE, np.float32)).to("CPU").realize()
    for _ in range(2):
        y = ((x + 1).contiguous() * 2).realize()
    buffer, device = buffer_of(x.uop.base), Note()
    assert buffer is not None
    show_memory(device, buffer.address(), buffer.nbytes)
    try:
        y = ((x + 1).contiguous() * 2).realize()
    finally:
        hide_memory(device, buffer.address(), buffer.nbytes)
    assert [(nbytes, write) for _, nbytes, write, _ in device.told] == [(4 * SIZE, False)]
    assert device.told[0][3].startswith("kernel ")
    assert y.numpy().tolist() == [2.0] * SIZE


def copy_out(device: str) -> tuple[UOp, Buffer]:
    """Return a batch that copies from the host, and storage of the device."""
    ends = [UOp.param(i, dtypes.float32, (SIZE,), d) for i, d in enumerate((device, "CPU"))]
    (call,) = batch(UOp(Ops.LINEAR, (UOp.call(UOp(Ops.COPY, (ends[1],), device), *ends),))).src
    return call, Buffer(device, SIZE, dtypes.float32).copyin(bytes(4 * SIZE))


@pytest.mark.parametrize(
    ("access", "races"),
    [
        (lambda buffer: buffer.copyin(bytes(4 * SIZE)), True),
        (lambda buffer: buffer.numpy(), False),
        (lambda buffer: host(5).numpy(), False),
    ],
)
def test_what_the_host_does_meanwhile_is_a_race_or_not(
    access: Callable[[Buffer], object], races: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the place of another thread, the first wait of the run does it."""
    name = f"TOYA:{next(INDEX)}"
    call, target = copy_out(name)
    linked, source = link_submits(call, {}), host(3)
    device = Device[name]
    assert isinstance(device, ToyDevice)
    sleep = device.sleep
    todo = [access]

    def interfere(seconds: float) -> bool:
        if todo:
            todo.pop()(source)
        return sleep(seconds)

    monkeypatch.setattr(device, "sleep", interfere)
    if races:
        with pytest.raises(DeviceError, match=r"race on 64 bytes .* (copyin|copy) \("):
            linked.run([target, source])
    else:
        assert linked.run([target, source])
        assert target.numpy().tolist() == [3.0] * SIZE
    assert SHOWN == []
